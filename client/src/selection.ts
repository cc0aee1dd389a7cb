/** Selections: steps that choose rows, in words, and the bits that the server makes of them. */
import type { Step } from "./api";
import { plural } from "./words";

export type Op = Step["op"];

/** One step in words. */
export function stepWords(step: Step, clusterName: (run: number, cluster: number) => string): string {
  const said: Record<Step["by"], () => string> = {
    polygon: () => `drawn on the map (${plural(step.polygon?.length ?? 0, "corner")})`,
    rows: () => plural(step.rows?.length ?? 0, "row") + " by hand",
    cluster: () => `cluster ${(step.clusters ?? []).map((k) => clusterName(step.run ?? 0, k)).join(", ")} of run ${step.run}`,
    confidence: () => `confidence below ${Math.round(100 * (step.below ?? 0))} %`,
    moved: () => `moved between runs ${step.runs?.join(" and ")}`,
    text: () => `contain “${step.text}”`,
    class: () => `labelled ${step.class}`,
    annotator: () => `spoken of by ${step.annotator}`,
    unlabelled: () => "without a label",
    all: () => "all rows",
  };
  const verbs: Record<string, string> = { add: "add", subtract: "take away", intersect: "keep only" };
  return `${verbs[step.op ?? "add"]}: ${said[step.by]()}`;
}

/** A new list of steps: a first step always adds. */
export function withStep(steps: Step[], step: Step, how: Op | "replace"): Step[] {
  if (how === "replace" || steps.length === 0) return [{ ...step, op: "add" }];
  return [...steps, { ...step, op: how ?? "add" }];
}

/** One byte for each row from the server's bits: lowest first, in base 64. */
export function unpack(bits: string, n: number): Uint8Array {
  const packed = atob(bits);
  const found = new Uint8Array(n);
  for (let row = 0; row < n; row++) found[row] = (packed.charCodeAt(row >> 3) >> (row & 7)) & 1;
  return found;
}

/** The drawn points whose rows are selected. */
export function pointsOf(mask: Uint8Array, rows: Int32Array | null, n: number): Uint32Array {
  const found: number[] = [];
  for (let k = 0; k < n; k++) if (mask[rows ? rows[k]! : k]) found.push(k);
  return Uint32Array.from(found);
}
