/** Numbers and times as people read them. */
export const count = (n: number): string => n.toLocaleString("en");
export const plural = (n: number, one: string, many = `${one}s`): string => `${count(n)} ${n === 1 ? one : many}`;
/** A sentence with a capital; the name of a file stays as it is. */
export const capital = (text: string): string => (/^\S*[.\d_/]\S/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1));
export const percent = (share: number, digits = 0): string => `${(100 * share).toFixed(digits)} %`;

/** An interval of shares, given as estimate, lower and upper end: "2 to 6 %". */
export function between(interval: number[] | null | undefined): string {
  if (!interval || interval.length < 3) return "not known yet";
  const [low, high] = [interval[1]!, interval[2]!].map((v) => (100 * v).toFixed(v < 0.1 ? 1 : 0));
  return low === high ? `${low} %` : `${low} to ${high} %`;
}

export function ago(seconds: number, now: number = Date.now() / 1000): string {
  const passed = Math.max(0, now - seconds);
  if (passed < 60) return "just now";
  if (passed < 3600) return plural(Math.floor(passed / 60), "minute") + " ago";
  if (passed < 86400) return plural(Math.floor(passed / 3600), "hour") + " ago";
  return new Date(seconds * 1000).toLocaleDateString("en", { day: "numeric", month: "short", year: "numeric" });
}

/** A cell as text; numbers without needless digits. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined || value === "") return "–";
  if (typeof value === "number") return Number.isInteger(value) ? count(value) : String(Number(value.toPrecision(5)));
  return String(value);
}

/** A share and its standard error: "91 ± 3 %". */
export function withError(share: number, error: number | null | undefined): string {
  return error === null || error === undefined ? percent(share) : `${(100 * share).toFixed(0)} ± ${(100 * error).toFixed(0)} %`;
}

export const JOB_WORDS: Record<string, string> = {
  fit: "A fit",
  layout: "The map",
  report: "A report",
  judge: "Held-out scores",
  compare: "The comparison of models",
};

export const KIND_WORDS: Record<string, string> = {
  must: "same",
  cannot: "different",
  unsure: "can't tell",
  label: "label",
  not_label: "not this",
};
