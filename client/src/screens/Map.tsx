/** The map: points by cluster, selections, and statements about them. */
import { effect, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { get, type Row, type Run, type Step } from "../api";
import { colourOf, css } from "../colours";
import { listen } from "../keys";
import { clustersOf, MapData, SHOWN } from "../mapdata";
import { type Box, MapView, type Mode, withoutOverlap } from "../mapview";
import { ACTION_COLUMN, Cell, Head, isPicture, Key, KeyDialog, Loading, pictureAt, Problem, Text } from "../parts";
import { here, placeOf, setQuery } from "../router";
import { type Op, pointsOf, stepWords } from "../selection";
import { attempt, jobs, lastEvent, lastRun, mayEdit, project, reloadProject } from "../session";
import { isDark, repaint } from "../theme";
import { cellText, count, plural } from "../words";

const ACTIONS = ["lasso", "box", "undoMap", "keys", "class"];

function wanted() {
  const { query } = placeOf(here.value);
  const number = (name: string) => (query.get(name) ? Number(query.get(name)) : null);
  return { run: number("run"), before: number("before") };
}

export function MapScreen() {
  const data = useMemo(() => new MapData(), []);
  const mode = useSignal<Mode>("pan");
  const helping = useSignal(false);
  const said = useSignal("");
  const { run, before } = wanted();

  useEffect(() => {
    if (data.points.value) void attempt(() => data.loadRuns({ run, before }));
    else void attempt(() => data.load({ run, before }));
  }, [run, before, lastRun.value]);
  const layoutsDone = jobs.value.filter((job) => job.kind === "layout" && job.state === "done").length;
  useEffect(() => {
    if (!data.points.value || !layoutsDone) return;
    void attempt(async () => {
      await reloadProject();
      await data.load({ run, before });
    });
  }, [layoutsDone]);
  useEffect(() => {
    if (data.showsPairs.value) void attempt(() => data.loadPairs());
  }, [lastEvent.value]);
  const undo = () =>
    attempt(async () => {
      const deed = await data.undo();
      said.value = deed ? `Taken back: ${deed.words}.` : "There is nothing to undo on this page.";
    });
  useEffect(() => {
    const ended = listen(ACTIONS, (action) => {
      if (action === "lasso" || action === "box") mode.value = mode.value === action ? "pan" : action;
      else if (action === "keys") helping.value = true;
      else if (action === "undoMap") void undo();
      else if (action.startsWith("class:")) {
        const name = project.value!.classes[Number(action.slice(6))];
        if (name !== undefined && data.selected.value?.n && mayEdit()) void label(data, String(name), said);
      }
    });
    const escaped = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
      if (mode.value !== "pan") mode.value = "pan";
      else void data.look([]);
    };
    addEventListener("keydown", escaped);
    return () => {
      ended();
      removeEventListener("keydown", escaped);
    };
  }, []);

  return (
    <div class="map-screen">
      <h1 class="hidden">Map</h1>
      <div class="map-left">
        <Tools data={data} mode={mode.value} setMode={(to) => (mode.value = to)} undo={undo} help={() => (helping.value = true)} />
        <Canvas data={data} mode={mode.value} />
      </div>
      <aside class="map-side" aria-label="Clusters and selection">
        <p class="said" role="status" aria-live="polite">
          {said.value}
        </p>
        <Legend data={data} />
        <Moved data={data} />
        <Selection data={data} say={(text) => (said.value = text)} />
      </aside>
      {helping.value && <KeyDialog actions={ACTIONS} onClose={() => (helping.value = false)} />}
    </div>
  );
}

async function label(data: MapData, name: string, said: { value: string }): Promise<void> {
  const n = data.selected.value?.n ?? 0;
  await attempt(async () => {
    await data.say("label", name, `${plural(n, "row")} labelled ${name}`);
    said.value = `${plural(n, "row")} labelled ${name}.`;
  });
}

type ToolProps = { data: MapData; mode: Mode; setMode: (mode: Mode) => void; undo: () => void; help: () => void };

function Tools({ data, mode, setMode, undo, help }: ToolProps) {
  const text = useSignal("");
  const runs = data.runs.value;
  const method = project.value!.layout;
  const computing = jobs.value.some((job) => job.kind === "layout" && ["queued", "running"].includes(job.state));
  const search = (event: Event) => {
    event.preventDefault();
    if (text.value.trim()) void attempt(() => data.select({ by: "text", op: "add", text: text.value.trim() }, "replace"));
  };
  return (
    <div class="tools" role="toolbar" aria-label="Map tools">
      <button aria-pressed={mode === "pan"} onClick={() => setMode("pan")}>
        Move
      </button>
      <button aria-pressed={mode === "lasso"} onClick={() => setMode("lasso")}>
        <Key of="lasso" /> Lasso
      </button>
      <button aria-pressed={mode === "box"} onClick={() => setMode("box")}>
        <Key of="box" /> Box
      </button>
      <button onClick={undo} disabled={data.deeds.value.length === 0}>
        <Key of="undoMap" /> Undo
      </button>
      {runs.length > 0 && (
        <label>
          Run
          <select value={String(data.run.value?.id ?? "")} onChange={(event) => setQuery({ run: event.currentTarget.value })}>
            {[...runs].reverse().map((run) => (
              <option key={run.id} value={String(run.id)}>
                {runName(run)}
              </option>
            ))}
          </select>
        </label>
      )}
      <form class="row" onSubmit={search} role="search">
        <input aria-label="Find rows that contain" placeholder="Find rows" value={text.value} onInput={(e) => (text.value = e.currentTarget.value)} />
      </form>
      <label class="check">
        <input
          type="checkbox"
          checked={data.showsPairs.value}
          onChange={(event) => {
            data.showsPairs.value = event.currentTarget.checked;
            void attempt(() => data.loadPairs());
          }}
        />
        Pairs
      </label>
      {mayEdit() && (
        <label>
          Plane
          <select
            value={method}
            disabled={computing}
            onChange={(event) => {
              const chosen = event.currentTarget.value;
              void attempt(() => data.layout(chosen));
            }}
          >
            {["pca", "tsne"].map((name) => (
              <option key={name} value={name}>
                {name === "pca" ? "PCA" : "t-SNE"}
              </option>
            ))}
            {!["pca", "tsne"].includes(method) && <option value={method}>{method}</option>}
          </select>
        </label>
      )}
      <button class="quiet keys" onClick={help}>
        <Key of="keys" /> Keys
      </button>
    </div>
  );
}

export const runName = (run: Run): string => `${run.id}: ${run.model}${run.pinned ? " (pinned)" : ""}`;

function Canvas({ data, mode }: { data: MapData; mode: Mode }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const over = useRef<SVGSVGElement>(null);
  const places = useRef<HTMLDivElement>(null);
  const view = useRef<MapView | null>(null);
  const tip = useSignal<Placed | null>(null);
  const problem = useSignal<string | null>(null);

  useEffect(() => {
    const drawn = follow(data, canvas.current!, over.current!, places.current!, tip);
    if (typeof drawn === "string") {
      problem.value = drawn;
      return;
    }
    view.current = drawn.view;
    return drawn.close;
  }, []);
  useEffect(() => {
    if (view.current) view.current.mode = mode;
  }, [mode]);

  const nRows = project.value!.n_rows;
  const points = data.points.value;
  return (
    <div class="map-box">
      <canvas
        ref={canvas}
        tabIndex={0}
        role="img"
        aria-label={`Map of ${count(nRows)} rows. Arrow keys move it, plus and minus zoom. Everything that it does can be done in the panel beside it.`}
      />
      <svg ref={over} aria-hidden="true" />
      <div ref={places} aria-hidden="true" />
      {tip.value && <Tip {...tip.value} />}
      {!points && !problem.value && <Loading what="Drawing the map" />}
      <Problem text={problem.value} />
      {points && nRows > SHOWN && (
        <p class="map-note">
          {points.n < nRows ? `${count(points.n)} of ${count(nRows)} rows are drawn, the cloud is all of them. Zoom in for more.` : ""}
        </p>
      )}
    </div>
  );
}

type Told = { text: string; picture: string | null };
type Placed = Told & { x: number; y: number };

function Tip({ text, picture, x, y }: Placed) {
  return (
    <div class="tip" style={{ transform: `translate(${x + 12}px, ${y + 12}px)` }}>
      {picture && <img src={picture} alt="" />}
      <Text>{text}</Text>
    </div>
  );
}

/** Draw the data while the screen is open. */
function follow(data: MapData, canvas: HTMLCanvasElement, over: SVGSVGElement, places: HTMLElement, tip: { value: Placed | null }) {
  let zooming: ReturnType<typeof setTimeout> | undefined;
  const names = new Names(data, places);
  let view: MapView;
  const rowOf = (point: number) => data.points.value?.rows?.[point] ?? point;
  const tips = new Tips();
  const onView = (box: Box, moving: boolean) => {
    if (!view) return;
    names.place(view);
    clearTimeout(zooming);
    if (!moving) zooming = setTimeout(() => void data.zoomTo(view.isWhole ? null : box).catch(() => undefined), 250);
  };
  try {
    view = new MapView(canvas, over, {
      onView,
      onSelect: (polygon, how) =>
        void attempt(() => data.select({ by: "polygon", op: "add", polygon, layout: project.value!.layout_file }, how)),
      onClick: (point, how) =>
        void attempt(async () => {
          if (point !== null) await data.select({ by: "rows", op: "add", rows: [rowOf(point)] }, how);
          else if (how === "replace") await data.look([]);
        }),
      onHover: (point, x, y) => tips.over(point === null ? null : rowOf(point), (told) => (tip.value = told && { ...told, x, y })),
    });
  } catch (error) {
    return (error as Error).message;
  }
  (window as unknown as { sidelightMap?: MapView }).sidelightMap = view; // for measurements in the browser
  const ends = [
    effect(() => {
      void repaint.value;
      view.dark(isDark());
    }),
    effect(() => {
      if (data.points.value) view.draw(data.points.value.xy);
    }),
    effect(() => {
      const paint = data.paint.value;
      if (paint) view.recolour(paint);
    }),
    effect(() => {
      const points = data.points.value;
      const mask = data.mask.value;
      if (points) view.select(mask ? pointsOf(mask, points.rows, points.n) : new Uint32Array(0));
    }),
    effect(() => {
      if (data.points.value) view.density(data.density.value);
    }),
    effect(() => view.highlightPairs(data.lines.value)),
    effect(() => names.update(view)),
  ];
  const close = () => {
    for (const end of ends) end();
    clearTimeout(zooming);
    view.close();
  };
  return { view, close };
}

/** The names of clusters where most of their points are. */
class Names {
  private shown: { at: [number, number]; box: HTMLElement; wide: number; high: number }[] = [];
  constructor(
    private readonly data: MapData,
    private readonly parent: HTMLElement,
  ) {}

  update(view: MapView): void {
    const { data } = this;
    const points = data.points.value;
    const run = data.run.value;
    const paint = data.paint.value;
    this.parent.replaceChildren();
    this.shown = [];
    if (!points || !run || !paint || data.before.value) return;
    const clusters = clustersOf(run);
    if (clusters.length > 24) return;
    const byColour = new Map(clusters.map((one) => [colourOf(one.colour).join(), one]));
    const sums = new Map<number, [number, number, number]>();
    const step = Math.max(1, Math.floor(points.n / 50_000));
    for (let k = 0; k < points.n; k += step) {
      const found = byColour.get(`${paint[4 * k]},${paint[4 * k + 1]},${paint[4 * k + 2]}`);
      if (!found || !paint[4 * k + 3]) continue;
      const sum = sums.get(found.number) ?? [0, 0, 0];
      sums.set(found.number, [sum[0] + points.xy[2 * k]!, sum[1] + points.xy[2 * k + 1]!, sum[2] + 1]);
    }
    for (const cluster of [...clusters].sort((a, b) => b.size - a.size)) {
      const sum = sums.get(cluster.number);
      if (!sum) continue;
      const box = document.createElement("div");
      box.className = "place";
      box.dir = "auto";
      box.textContent = cluster.name;
      this.parent.append(box);
      this.shown.push({ at: [sum[0] / sum[2], sum[1] / sum[2]], box, wide: 0, high: 0 });
    }
    for (const one of this.shown) [one.wide, one.high] = [one.box.offsetWidth, one.box.offsetHeight];
    this.place(view);
  }

  /** Where names would cover each other, that of the larger cluster is shown. */
  place(view: MapView): void {
    const width = this.parent.clientWidth;
    const places = this.shown.map(({ at, wide, high }) => {
      const [x, y] = view.pixel(...at);
      // A name at the edge stays whole while its cluster is in sight.
      const within = x < 0 || x > width ? x : Math.min(Math.max(x, wide / 2 + 4), width - wide / 2 - 4);
      return { at: [within, y] as [number, number], wide, high };
    });
    const clear = withoutOverlap(places);
    this.shown.forEach(({ box }, k) => {
      const [x, y] = places[k]!.at;
      box.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px) translate(-50%, -50%)`;
      box.style.visibility = clear[k] ? "visible" : "hidden";
    });
  }
}

/** The row under the pointer, loaded once the pointer rests. */
class Tips {
  private row: number | null = null;
  private waiting: ReturnType<typeof setTimeout> | undefined;
  private readonly known = new Map<number, Told>();

  over(row: number | null, show: (told: Told | null) => void): void {
    if (row !== null && row === this.row) return;
    this.row = row;
    clearTimeout(this.waiting);
    if (row === null) return show(null);
    const told = this.known.get(row);
    if (told) return show(told);
    this.waiting = setTimeout(async () => {
      try {
        const [found] = await get<Row[]>(`projects/${project.value!.id}/rows?ids=${row}`);
        if (!found) return;
        const [image, rest] = [Object.keys(found.cells).find(isPicture), Object.entries(found.cells).filter(([name]) => !isPicture(name))];
        const cells = rest.slice(0, 3).map(([name, value]) => `${name} ${cellText(value).slice(0, 40)}`);
        this.known.set(row, { text: [String(found.id), ...cells].join(" · "), picture: image ? pictureAt(row, image, true) : null });
        if (this.row === row) show(this.known.get(row)!);
      } catch {
        // An error of a tooltip is not shown.
      }
    }, 120);
  }
}

/** The colours, which are a filter too: what is unticked is not drawn. */
function Legend({ data }: { data: MapData }) {
  const run = data.run.value;
  if (!run) {
    return (
      <section>
        <h2>No clusters yet</h2>
        <p class="muted">The first run comes by itself after ten answers. Or start one now.</p>
        {mayEdit() && <FitButton data={data} />}
      </section>
    );
  }
  const flip = (colour: number) => {
    const hidden = new Set(data.hidden.value);
    if (!hidden.delete(colour)) hidden.add(colour);
    data.hidden.value = hidden;
  };
  const clusters = clustersOf(run);
  return (
    <section>
      <h2>{plural(clusters.length, "cluster")}</h2>
      <ul class="legend">
        {clusters.map((one) => (
          <li key={one.number}>
            <input type="checkbox" id={`c${one.number}`} checked={!data.hidden.value.has(one.colour)} onChange={() => flip(one.colour)} />
            <span class="swatch" style={{ background: css(colourOf(one.colour)) }} />
            <label class="label" for={`c${one.number}`} title={one.name}>
              <Text>{one.name}</Text>
            </label>
            <span class="size">{count(one.size)}</span>
            <button
              class="quiet"
              onClick={() => void attempt(() => data.select({ by: "cluster", op: "add", run: run.id, clusters: [one.number] }, "replace"))}
            >
              Select<span class="hidden"> {one.name}</span>
            </button>
          </li>
        ))}
      </ul>
      <p class="row">
        <button class="link" onClick={() => (data.hidden.value = new Set())} disabled={data.hidden.value.size === 0}>
          Show all
        </button>
        <button class="link" onClick={() => (data.hidden.value = new Set(clusters.map((one) => one.colour)))}>
          Hide all
        </button>
        {mayEdit() && <FitButton data={data} />}
      </p>
    </section>
  );
}

function FitButton({ data }: { data: MapData }) {
  const busy = jobs.value.some((job) => job.kind === "fit" && ["queued", "running"].includes(job.state));
  return (
    <button onClick={() => void attempt(() => data.fit())} disabled={busy}>
      {busy ? "Fitting …" : "Fit now"}
    </button>
  );
}

/** Before and after: what moved between two runs. */
function Moved({ data }: { data: MapData }) {
  const { runs, run, before, moved } = data;
  const earlier = runs.value.filter((one) => run.value && one.id < run.value.id);
  if (earlier.length === 0) return null;
  const n = moved.value ? moved.value.reduce((sum, one) => sum + one, 0) : 0;
  return (
    <section>
      <h2>What moved</h2>
      <p class="row">
        <label class="check">
          Since run
          <select value={String(before.value?.id ?? "")} onChange={(event) => setQuery({ before: event.currentTarget.value || null })}>
            <option value="">–</option>
            {[...earlier].reverse().map((one, k) => (
              <option key={one.id} value={String(one.id)}>
                {k === 0 ? `${one.id} (your last answers)` : one.id}
              </option>
            ))}
          </select>
        </label>
      </p>
      {before.value && (
        <>
          <p>
            {n === 0 ? "No row changed its cluster." : `${plural(n, "row")} changed ${n === 1 ? "its" : "their"} cluster; the others are pale.`}
          </p>
          <p class="row">
            <button aria-pressed={data.showsBefore.value} onClick={() => (data.showsBefore.value = true)}>
              Before
            </button>
            <button aria-pressed={!data.showsBefore.value} onClick={() => (data.showsBefore.value = false)}>
              After
            </button>
            <button
              disabled={n === 0}
              onClick={() => void attempt(() => data.select({ by: "moved", op: "add", runs: [before.value!.id, run.value!.id] }, "replace"))}
            >
              List them
            </button>
          </p>
        </>
      )}
    </section>
  );
}

/** The selection, how it was made, and statements about it. */
function Selection({ data, say }: { data: MapData; say: (text: string) => void }) {
  const found = data.selected.value;
  const nameOf = (run: number, cluster: number) =>
    clustersOf(data.runs.value.find((one) => one.id === run) ?? null)[cluster]?.name ?? String(cluster);
  return (
    <section>
      <h2>Selection</h2>
      {!found ? (
        <p class="muted">Draw a lasso or a box, click a point, or choose rows here. With Shift a drawing adds to the selection, with Alt it takes away.</p>
      ) : (
        <>
          <p>
            <strong>{plural(found.n, "row")}</strong>{" "}
            <button class="link" onClick={() => void data.look([])}>
              Clear
            </button>
          </p>
          <ol class="steps">
            {data.steps.value.map((step, k) => (
              <li key={k}>
                {stepWords(step, nameOf)}{" "}
                <button class="link" onClick={() => void attempt(() => data.look(withoutStep(data.steps.value, k)))}>
                  Remove<span class="hidden"> step {k + 1}</span>
                </button>
              </li>
            ))}
          </ol>
        </>
      )}
      <Chooser data={data} />
      {found && found.n > 0 && (
        <>
          {mayEdit() && <Sayings data={data} say={say} />}
          <Inside data={data} />
        </>
      )}
      {data.named.value.length > 0 && (
        <>
          <h3>Kept selections</h3>
          <p class="row">
            {data.named.value.map((one) => (
              <button key={one.event} onClick={() => void attempt(() => data.look(one.steps))}>
                <Text>{one.name}</Text>
              </button>
            ))}
          </p>
        </>
      )}
    </section>
  );
}

function withoutStep(steps: Step[], k: number): Step[] {
  const rest = steps.filter((_, at) => at !== k);
  return rest.map((step, at) => (at === 0 ? { ...step, op: "add" } : step));
}

/** Every way to select, without a pointer. */
function Chooser({ data }: { data: MapData }) {
  const by = useSignal<Step["by"]>("text");
  const op = useSignal<Op | "replace">("replace");
  const value = useSignal("");
  const run = data.run.value;
  const choices: Partial<Record<Step["by"], string[]>> = {
    cluster: clustersOf(run).map((one) => one.name),
    class: project.value!.classes.map(String),
    annotator: project.value!.annotators.map(String),
  };
  const ways: [Step["by"], string][] = [
    ["text", "rows that contain"],
    ["unlabelled", "rows without a label"],
    ["all", "all rows"],
    ...(run ? ([["cluster", "rows of cluster"]] as [Step["by"], string][]) : []),
    ...(run?.scores.membership ? ([["confidence", "rows with confidence below (%)"]] as [Step["by"], string][]) : []),
    ...(choices.class?.length ? ([["class", "rows labelled"]] as [Step["by"], string][]) : []),
    ...(choices.annotator?.length ? ([["annotator", "rows spoken of by"]] as [Step["by"], string][]) : []),
  ];
  const list = choices[by.value];
  const choose = (event: Event) => {
    event.preventDefault();
    const chosen = value.value || list?.[0] || "";
    const step: Step = { by: by.value, op: "add" };
    if (by.value === "text") step.text = chosen;
    if (by.value === "cluster") Object.assign(step, { run: run!.id, clusters: [Math.max(0, list!.indexOf(chosen))] });
    if (by.value === "confidence") Object.assign(step, { run: run!.id, below: Number(chosen) / 100 });
    if (by.value === "class") step.class = project.value!.classes.find((one) => String(one) === chosen) ?? chosen;
    if (by.value === "annotator") step.annotator = chosen;
    void attempt(() => data.select(step, op.value));
  };
  return (
    <form class="actions" onSubmit={choose} aria-label="Choose rows">
      <div class="row">
        <select aria-label="How it joins the selection" value={op.value ?? "replace"} onChange={(e) => (op.value = e.currentTarget.value as Op)}>
          <option value="replace">Select</option>
          <option value="add">Add</option>
          <option value="subtract">Take away</option>
          <option value="intersect">Keep only</option>
        </select>
        <select
          aria-label="Which rows"
          value={by.value}
          onChange={(e) => {
            by.value = e.currentTarget.value as Step["by"];
            value.value = "";
          }}
        >
          {ways.map(([name, words]) => (
            <option key={name} value={name}>
              {words}
            </option>
          ))}
        </select>
      </div>
      <div class="row">
        {list ? (
          <select aria-label="Value" value={value.value || list[0]} onChange={(e) => (value.value = e.currentTarget.value)}>
            {list.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        ) : ["text", "confidence"].includes(by.value) ? (
          <input
            aria-label="Value"
            required
            inputMode={by.value === "confidence" ? "numeric" : "text"}
            pattern={by.value === "confidence" ? "[0-9]{1,3}" : undefined}
            value={value.value}
            onInput={(e) => (value.value = e.currentTarget.value)}
          />
        ) : null}
        <button type="submit">Go</button>
      </div>
    </form>
  );
}

/** Buttons for statements about the selection. */
function Sayings({ data, say }: { data: MapData; say: (text: string) => void }) {
  const name = useSignal("");
  const n = data.selected.value!.n;
  const doing = (work: () => Promise<void>, words: string) =>
    void attempt(async () => {
      await work();
      say(`${words}.`);
    });
  const named = name.value.trim();
  const classes = project.value!.classes.map(String);
  const saying = (kind: "label" | "not_label", words: string) => doing(() => data.say(kind, named, words), words);
  return (
    <div class="actions" role="group" aria-label="Say of the selection">
      <h3>Say of these rows</h3>
      <div class="row">
        <input aria-label="Class or name" placeholder="Class or name" list="classes" value={name.value} maxLength={200} onInput={(e) => (name.value = e.currentTarget.value)} />
        <datalist id="classes">
          {classes.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      </div>
      <div class="row">
        <button class="main" disabled={!named} onClick={() => saying("label", `${plural(n, "row")} labelled ${named}`)}>
          Label
        </button>
        <button disabled={!named} onClick={() => saying("not_label", `${plural(n, "row")} are not ${named}`)}>
          Not this
        </button>
        <button disabled={!named} onClick={() => doing(() => data.keep(named), `Kept as ${named}`)}>
          Keep under this name
        </button>
      </div>
      <div class="row">
        <button disabled={n < 2} onClick={() => doing(() => data.say("must", null, `${plural(n, "row")} made one group`), `${plural(n, "row")} made one group`)}>
          All one group
        </button>
        <button disabled={n !== 2} onClick={() => doing(() => data.say("cannot", null, "Two rows kept apart"), "Two rows kept apart")}>
          Keep the two apart
        </button>
      </div>
      {classes.length > 0 && (
        <p class="row">
          {classes.slice(0, 9).map((one, k) => (
            <button key={one} onClick={() => doing(() => data.say("label", one, `${plural(n, "row")} labelled ${one}`), `${plural(n, "row")} labelled ${one}`)}>
              <Key of={String(k + 1)} /> <Text>{one}</Text>
            </button>
          ))}
        </p>
      )}
    </div>
  );
}

/** The selection's clusters, classes, traits and rows. */
function Inside({ data }: { data: MapData }) {
  const found = data.selected.value!;
  const columns = Object.keys(found.rows[0]?.cells ?? {});
  const traits = found.profile.filter((one) => Math.abs(one.deviations) >= 0.05).slice(0, 5);
  return (
    <>
      {found.clusters.length > 0 && (
        <>
          <h3>In clusters</h3>
          <p class="row">
            {found.clusters.map((one) => (
              <span key={one.name} class="row">
                <span class="swatch" style={{ background: css(colourOf(one.colour ?? -1)) }} />
                <span>
                  <Text>{one.name}</Text> {count(one.n)}
                </span>
              </span>
            ))}
          </p>
        </>
      )}
      {found.classes.length > 0 && (
        <p>
          Labelled:{" "}
          {found.classes.map((one, k) => (
            <span key={one.name}>
              {k > 0 && ", "}
              <Text>{one.name}</Text> {count(one.n)}
            </span>
          ))}
        </p>
      )}
      <h3>How they differ from all rows</h3>
      {traits.length === 0 && <p class="muted">There is no clear difference.</p>}
      <ul class="steps">
        {traits.map((one) => (
          <li key={one.name}>
            <Text>{one.name}</Text>: {one.deviations > 0 ? "higher" : "lower"} by {Math.abs(one.deviations).toFixed(1)} deviations
          </li>
        ))}
      </ul>
      <h3>
        {found.n > found.rows.length ? `The first ${count(found.rows.length)} rows` : "Rows"}
      </h3>
      <div class="rows-table" tabIndex={0} role="region" aria-label="Rows of the selection">
        <table>
          <Head of={["Id", ...columns, ACTION_COLUMN]} />
          <tbody>
            {found.rows.map((row) => (
              <tr key={row.row}>
                <th scope="row">
                  <Text>{String(row.id)}</Text>
                </th>
                {columns.map((name) => (
                  <td key={name}>
                    <Cell row={row} name={name} small />
                  </td>
                ))}
                <td>
                  <button class="link" onClick={() => void attempt(() => data.select({ by: "rows", op: "add", rows: [row.row] }, "subtract"))}>
                    Take out<span class="hidden"> {String(row.id)}</span>
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

