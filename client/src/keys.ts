/** Single keys and what they do; people may change them or switch them off. */
import { signal } from "@preact/signals";

export type KeyMap = Record<string, string>;

/** Action → key. Digits choose a class and stay as they are. */
export const DEFAULTS: KeyMap = {
  must: "m",
  cannot: "c",
  unsure: "u",
  later: "s",
  undo: "ArrowLeft",
  newClass: "n",
  keys: "?",
  lasso: "l",
  box: "b",
  undoMap: "z",
  keep: "k",
  retract: "r",
  askAgain: "a",
};

export const WORDS: Record<string, string> = {
  must: "same kind",
  cannot: "different kind",
  unsure: "can't tell",
  later: "later",
  undo: "take the last answer back",
  newClass: "a new class",
  keys: "this list",
  lasso: "lasso on the map",
  box: "box on the map",
  undoMap: "undo on the map",
  keep: "keep a doubtful statement",
  retract: "take a doubtful statement back",
  askAgain: "ask another person",
};

const PLACE = "sidelight.keys";
const OFF = "sidelight.keys.off";

/** The key map after changes; a key that is used twice is reset. */
export function merged(own: KeyMap): KeyMap {
  const found: KeyMap = { ...DEFAULTS };
  for (const [action, key] of Object.entries(own)) {
    if (action in DEFAULTS && key && !/^[0-9]$/.test(key)) found[action] = key;
  }
  return found;
}

/** Actions of one screen that share a key; they would do two things at once. */
export function clashes(keys: KeyMap, actions: string[]): string[] {
  return actions.filter((action) => actions.some((other) => other !== action && keys[other] === keys[action]));
}

function stored<T>(place: string, otherwise: T): T {
  try {
    return JSON.parse(localStorage.getItem(place) ?? "null") ?? otherwise;
  } catch {
    return otherwise;
  }
}

export const keys = signal<KeyMap>(merged(stored<KeyMap>(PLACE, {})));
export const keysOff = signal<boolean>(stored<boolean>(OFF, false));

export function changeKey(action: string, key: string): void {
  keys.value = { ...keys.value, [action]: key };
  localStorage.setItem(PLACE, JSON.stringify(keys.value));
}

export function resetKeys(): void {
  keys.value = { ...DEFAULTS };
  localStorage.removeItem(PLACE);
}

export function switchKeys(off: boolean): void {
  keysOff.value = off;
  localStorage.setItem(OFF, JSON.stringify(off));
}

/** A key as a keyboard shows it. */
export function keyName(key: string): string {
  const named: Record<string, string> = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", " ": "space" };
  return named[key] ?? (key.length === 1 ? key.toUpperCase() : key);
}

type Pressed = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">;

/** What a pressed key does, of these actions; a digit is "class:0" to "class:8". */
export function actionOf(event: Pressed, actions: string[], map: KeyMap = keys.value): string | null {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  if (/^[1-9]$/.test(event.key)) return actions.includes("class") ? `class:${Number(event.key) - 1}` : null;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  return actions.find((action) => map[action]?.toLowerCase() === key.toLowerCase()) ?? null;
}

const TYPING = /^(input|textarea|select)$/i;

/** Whether the focus is in a text field, where letters are not keys. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  const box = target instanceof HTMLInputElement && /^(checkbox|radio|button)$/.test(target.type);
  return target.isContentEditable || (TYPING.test(target.tagName) && !box);
}

/** Call a function for actions of a screen; returns a function that stops it. */
export function listen(actions: string[], act: (action: string, event: KeyboardEvent) => void): () => void {
  const heard = (event: KeyboardEvent) => {
    if (event.repeat || event.defaultPrevented || keysOff.value || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    const action = actionOf(event, actions);
    if (action === null) return;
    event.preventDefault();
    act(action, event);
  };
  addEventListener("keydown", heard);
  return () => removeEventListener("keydown", heard);
}
