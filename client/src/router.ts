/** The address of the page is its state: a path, and links that do not load it again. */
import { signal } from "@preact/signals";

export const here = signal("/");

export type Place = { screen: string; project: number | null; query: URLSearchParams };

/** Which screen an address names. */
export function placeOf(address: string): Place {
  const [path = "/", search = ""] = address.split("?");
  const parts = path.split("/").filter(Boolean);
  const query = new URLSearchParams(search);
  if (parts.length === 0) return { screen: "projects", project: null, query };
  if (parts[0] === "import") return { screen: "import", project: null, query };
  if (parts[0] === "p" && /^\d+$/.test(parts[1] ?? "")) {
    return { screen: parts[2] ?? "queue", project: Number(parts[1]), query };
  }
  return { screen: "nowhere", project: null, query };
}

export function go(to: string, how: { replace?: boolean } = {}): void {
  history[how.replace ? "replaceState" : "pushState"](null, "", to);
  here.value = to;
  if (!how.replace) scrollTo(0, 0);
}

/** Change parts of the query of this address. */
export function setQuery(change: Record<string, string | null>): void {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(change)) {
    if (value === null) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  go(url.pathname + url.search, { replace: true });
}

export function startRouting(): void {
  const look = () => (here.value = location.pathname + location.search);
  look();
  addEventListener("popstate", look);
  document.addEventListener("click", (event) => {
    const link = (event.target as Element | null)?.closest?.("a");
    const other = event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey;
    if (!link || other || link.target || link.hasAttribute("download")) return;
    const url = new URL(link.href, location.href);
    if (url.origin !== location.origin || /^\/(api|plain|static|login|join)\b/.test(url.pathname)) return;
    if (url.hash && url.pathname === location.pathname) return;
    event.preventDefault();
    go(url.pathname + url.search);
  });
}
