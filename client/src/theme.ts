/** Light, dark, or the setting of the system. */
import { signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";
const PLACE = "sidelight.theme";
export const theme = signal<Theme>((localStorage.getItem(PLACE) as Theme | null) ?? "auto");
/** Increases when colours change, for the parts that are drawn by hand. */
export const repaint = signal(0);

export function applyTheme(): void {
  document.documentElement.dataset.theme = theme.value;
  matchMedia("(prefers-color-scheme: dark)").onchange = () => repaint.value++;
}

export function nextTheme(): void {
  theme.value = theme.value === "auto" ? "light" : theme.value === "light" ? "dark" : "auto";
  localStorage.setItem(PLACE, theme.value);
  applyTheme();
  repaint.value++;
}

export const isDark = (): boolean =>
  theme.value === "dark" || (theme.value === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
