import type { Keeper } from "../src/outbox";

/** Like localStorage, for one test. */
export class Memory implements Keeper {
  readonly map = new Map<string, string>();
  get length() {
    return this.map.size;
  }
  key = (index: number) => [...this.map.keys()][index] ?? null;
  getItem = (name: string) => this.map.get(name) ?? null;
  setItem = (name: string, value: string) => void this.map.set(name, value);
  removeItem = (name: string) => void this.map.delete(name);
}
