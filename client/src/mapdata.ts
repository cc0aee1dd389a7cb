/** What the map of a project shows: points, runs, labels, a selection; all of it as signals. */
import { unique } from "./unique";
import { batch, computed, signal } from "@preact/signals";
import { bytes, get, post, type Run, type Schema, type Statement, type Step } from "./api";
import { movedRows, paint, type Painting } from "./colours";
import type { Box, PairLine } from "./mapview";
import { lastRun, project, reloadProject } from "./session";
import { type Op, unpack, withStep } from "./selection";

export const SHOWN = 300_000; // rows above which the server sends a sample
export type Points = { rows: Int32Array | null; xy: Float32Array; n: number };
type Selected = Schema["Selected"];
export type Deed = { event: number; words: string };
type Cluster = { number: number; name: string; size: number; colour: number };

export const clustersOf = (run: Run | null): Cluster[] => (run?.scores.clusters as Cluster[] | undefined) ?? [];

/** Rows' numbers (int32), then their places (two float32 each). */
export function readPoints(buffer: ArrayBuffer, nRows: number): Points {
  const n = buffer.byteLength / 12;
  const rows = new Int32Array(buffer, 0, n);
  return { rows: n === nRows ? null : rows, xy: new Float32Array(buffer, 4 * n, 2 * n), n };
}

export class MapData {
  readonly points = signal<Points | null>(null);
  readonly density = signal<Float32Array | null>(null);
  readonly runs = signal<Run[]>([]);
  readonly run = signal<Run | null>(null);
  readonly before = signal<Run | null>(null);
  readonly showsBefore = signal(false);
  readonly hidden = signal<Set<number>>(new Set());
  readonly steps = signal<Step[]>([]);
  readonly selected = signal<Selected | null>(null);
  readonly deeds = signal<Deed[]>([]);
  readonly named = signal<Schema["NamedSelection"][]>([]);
  readonly showsPairs = signal(false);
  private readonly pairs = signal<{ i: number; j: number; kind: "must" | "cannot" }[]>([]);
  private readonly arrays = new Map<string, Int32Array>();
  private readonly labels = signal<Int32Array | null>(null);
  private readonly labelsBefore = signal<Int32Array | null>(null);
  private wanted: Step[] = [];
  private whole: Points | null = null;
  private asked = 0;

  /** One byte for each row that is selected. */
  readonly mask = computed(() =>
    this.selected.value?.n ? unpack(this.selected.value.bits, project.value!.n_rows) : null,
  );

  readonly moved = computed(() => {
    const [now, then] = [this.painting(this.run.value, this.labels.value), this.painting(this.before.value, this.labelsBefore.value)];
    return now && then ? movedRows(then, now) : null;
  });

  /** Pairs with statements, between points that are drawn; only those of the selection, if there is one. */
  readonly lines = computed((): PairLine[] => {
    const points = this.points.value;
    if (!points || !this.showsPairs.value) return [];
    const place = points.rows && new Map(Array.from(points.rows, (row, k) => [row, k]));
    const at = (row: number) => (place ? place.get(row) : row);
    const mask = this.mask.value;
    return this.pairs.value.flatMap(({ i, j, kind }) => {
      const [from, to] = [at(i), at(j)];
      if (from === undefined || to === undefined || (mask && !mask[i] && !mask[j])) return [];
      return [{ from, to, kind }];
    });
  });

  /** Red, green, blue and opacity of the points as they should look now. */
  readonly paint = computed(() => {
    const points = this.points.value;
    if (!points) return null;
    const shown = this.showsBefore.value
      ? this.painting(this.before.value, this.labelsBefore.value)
      : this.painting(this.run.value, this.labels.value);
    const painting = shown ?? { labels: new Int32Array(0), colours: [], hidden: new Set<number>(), rows: points.rows };
    return paint(points.n, { ...painting, moved: this.moved.value });
  });

  private painting(run: Run | null, labels: Int32Array | null): Painting | null {
    if (!run || !labels) return null;
    const colours = clustersOf(run).map((one) => one.colour);
    const hidden = new Set(clustersOf(run).filter((one) => this.hidden.value.has(one.colour)).map((one) => one.number));
    return { labels, colours, hidden, rows: this.points.value?.rows ?? null };
  }

  private at(path: string): string {
    return `projects/${project.value!.id}/${path}`;
  }

  async load(wanted: { run: number | null; before: number | null }): Promise<void> {
    const nRows = project.value!.n_rows;
    const many = nRows > SHOWN;
    const [buffer, grid] = await Promise.all([
      bytes(this.at("points.bin")),
      many ? bytes(this.at("density.bin")) : null,
      this.loadRuns(wanted),
    ]);
    this.whole = readPoints(buffer, nRows);
    this.density.value = grid && new Float32Array(grid);
    this.points.value = this.whole;
    this.named.value = await get(this.at("selections"));
  }

  async loadRuns(wanted: { run: number | null; before: number | null }): Promise<void> {
    const runs = await get<Run[]>(this.at("runs"));
    const chosen = runs.find((one) => one.id === wanted.run) ?? runs.at(-1) ?? null;
    const before = runs.find((one) => one.id === wanted.before) ?? null;
    const [labels, labelsBefore] = await Promise.all([this.labelsOf(chosen), this.labelsOf(before)]);
    this.runs.value = runs;
    this.labels.value = labels;
    this.labelsBefore.value = labelsBefore;
    this.run.value = chosen;
    this.before.value = before;
    if (!before) this.showsBefore.value = false;
    if (this.steps.value.length) void this.look(this.steps.value);
  }

  private async labelsOf(run: Run | null): Promise<Int32Array | null> {
    if (!run) return null;
    const known = this.arrays.get(run.labels_file);
    if (known) return known;
    const found = new Int32Array(await bytes(this.at(`runs/${run.id}/labels.bin`)));
    this.arrays.set(run.labels_file, found);
    return found;
  }

  /** The rows of a view, if only a sample is drawn. */
  async zoomTo(box: Box | null): Promise<void> {
    if (!this.whole?.rows) return;
    if (box === null) {
      this.asked++;
      this.points.value = this.whole;
      return;
    }
    const mine = ++this.asked;
    const text = [box.left, box.bottom, box.right, box.top].map((v) => v.toFixed(5)).join(",");
    const buffer = await bytes(this.at(`points.bin?box=${text}`));
    if (mine === this.asked) this.points.value = readPoints(buffer, -1);
  }

  async loadPairs(): Promise<void> {
    if (!this.showsPairs.value) return;
    const all = await get<Statement[]>(this.at("statements"));
    this.pairs.value = all.flatMap(({ i, j, kind, retracted_by }) =>
      j !== null && retracted_by === null && (kind === "must" || kind === "cannot") ? [{ i, j, kind }] : [],
    );
  }

  async select(step: Step, how: Op | "replace"): Promise<void> {
    await this.look(withStep(this.wanted, step, how));
  }

  /** Select by steps; the steps and the selected rows change together. */
  async look(steps: Step[]): Promise<void> {
    const before = this.wanted;
    this.wanted = steps;
    try {
      const body = { steps, run: this.run.value?.id ?? null };
      const found = steps.length ? await post<Selected>(this.at("selected"), body) : null;
      if (this.wanted !== steps) return; // somebody went on in the meantime
      batch(() => {
        this.steps.value = steps;
        this.selected.value = found;
      });
    } catch (error) {
      if (this.wanted === steps) this.wanted = before;
      throw error;
    }
  }

  /** Make a statement about the selection: one event, one undo. */
  async say(kind: Schema["Saying"]["kind"], name: string | null, words: string): Promise<void> {
    const body = { kind, steps: this.steps.value, class: name, key: unique() };
    const { events } = await post<Schema["Appended"]>(this.at("say"), body);
    this.deeds.value = [...this.deeds.value, { event: events[0]!, words }];
    await this.look([...this.steps.value]);
    void reloadProject();
  }

  async keep(name: string): Promise<void> {
    const { events } = await post<Schema["Appended"]>(this.at("selections"), { name, steps: this.steps.value });
    this.deeds.value = [...this.deeds.value, { event: events[0]!, words: `Kept “${name}”` }];
    this.named.value = await get(this.at("selections"));
  }

  async undo(): Promise<Deed | null> {
    const deed = this.deeds.value.at(-1);
    if (!deed) return null;
    await post(this.at("retract"), { event: deed.event, key: `undo:${deed.event}` });
    this.deeds.value = this.deeds.value.slice(0, -1);
    this.named.value = await get(this.at("selections"));
    if (this.steps.value.length) await this.look([...this.steps.value]);
    void reloadProject();
    return deed;
  }

  async fit(): Promise<void> {
    await post(this.at("jobs"), { kind: "fit" });
  }

  async layout(method: string): Promise<void> {
    await post(this.at("jobs"), { kind: "layout", method });
  }

  /** Whether there is a newer run than the one shown. */
  get isBehind(): boolean {
    return lastRun.value !== null && !this.runs.value.some((one) => one.id === lastRun.value);
  }
}
