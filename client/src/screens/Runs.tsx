/** All fits: their statements and results; start, stop, compare, pin. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { get, type Job, post, type Run, type Schema, send } from "../api";
import { colourOf, css } from "../colours";
import { type Column, Empty, Head, Loading, numeric, Problem, Table, Text } from "../parts";
import { here, placeOf, setQuery } from "../router";
import { clustersOf } from "../mapdata";
import { attempt, jobs as told, lastRun, mayEdit, project } from "../session";
import { ago, count, JOB_WORDS, percent, plural, withError } from "../words";
import { runName } from "./Map";

export function Runs() {
  const runs = useSignal<Run[] | null>(null);
  const jobs = useSignal<Job[]>([]);
  const at = `projects/${project.value!.id}`;
  const states = told.value.map((job) => `${job.id}${job.state}${Math.round(20 * job.progress)}`).join();
  const load = () =>
    attempt(async () => {
      [runs.value, jobs.value] = await Promise.all([get<Run[]>(`${at}/runs`), get<Job[]>(`${at}/jobs`)]);
    });
  useEffect(() => void load(), [lastRun.value, states]);
  if (runs.value === null) return <Loading what="Looking for runs" />;
  return (
    <div class="page">
      <div class="head">
        <h1>Runs</h1>
      </div>
      {mayEdit() && <Start load={load} />}
      <Jobs jobs={jobs.value} load={load} />
      {runs.value.length === 0 ? (
        <Empty title="No run yet">
          <p>The first fit starts by itself after ten answers, or thirty seconds after the last one.</p>
        </Empty>
      ) : (
        <List
          runs={[...runs.value].reverse()}
          jobs={jobs.value}
          pin={(run) => void attempt(() => post(`${at}/runs/${run.id}/pin`)).then(load)}
          judge={(run) => void attempt(() => post(`${at}/jobs`, { kind: "judge", run: run.id })).then(load)}
        />
      )}
      {runs.value.length > 1 && <Compare runs={runs.value} />}
      <Models jobs={jobs.value} load={load} />
    </div>
  );
}

function Start({ load }: { load: () => void }) {
  const models = useSignal<string[]>([]);
  const model = useSignal("DiscriminativeClustering");
  const k = useSignal("");
  const seed = useSignal("0");
  useEffect(
    () =>
      void attempt(async () => {
        models.value = await get<string[]>("models");
      }),
    [],
  );
  const start = (event: Event) => {
    event.preventDefault();
    const body = { kind: "fit", model: model.value, n_clusters: k.value ? Number(k.value) : null, seed: Number(seed.value) };
    void attempt(() => post(`projects/${project.value!.id}/jobs`, body)).then(load);
  };
  return (
    <form class="panel grid-form" onSubmit={start} aria-label="Start a run">
      <label class="field">
        Model
        <select value={model.value} onChange={(e) => (model.value = e.currentTarget.value)}>
          {models.value.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <label class="field">
        Clusters
        <input inputMode="numeric" pattern="[1-9][0-9]*" title="A whole number from 1 on" placeholder="found by the model" value={k.value} onInput={(e) => (k.value = e.currentTarget.value)} />
      </label>
      <label class="field">
        Seed
        <input inputMode="numeric" pattern="[0-9]+" title="A whole number" required value={seed.value} onInput={(e) => (seed.value = e.currentTarget.value)} />
      </label>
      <div>
        <button class="main" type="submit">
          Start
        </button>
      </div>
    </form>
  );
}

function Jobs({ jobs, load }: { jobs: Job[]; load: () => void }) {
  const live = jobs.filter((job) => ["queued", "running"].includes(job.state));
  const last = jobs.find((job) => !live.includes(job)); // the newest comes first
  const failed = last?.state === "failed" ? last : undefined;
  const cancel = (job: Job) => void attempt(() => send("DELETE", `projects/${project.value!.id}/jobs/${job.id}`)).then(load);
  return (
    <div aria-live="polite">
      {live.map((job) => (
        <div class="panel row" key={job.id}>
          <strong>{JOB_WORDS[job.kind] ?? job.kind}</strong>
          <span class="muted">{job.state === "queued" ? "waits for a worker" : job.message || "has begun"}</span>
          <div class="progress" role="progressbar" aria-label={`Job ${job.id}`} aria-valuenow={Math.round(100 * job.progress)} aria-valuemin={0} aria-valuemax={100}>
            <div style={{ width: `${100 * job.progress}%` }} />
          </div>
          {mayEdit() && <button onClick={() => cancel(job)}>Stop</button>}
        </div>
      ))}
      {failed?.error && <Problem text={`${JOB_WORDS[failed.kind] ?? failed.kind} failed: ${failed.error.trim().split("\n").at(-1)}`} />}
    </div>
  );
}

type ListProps = { runs: Run[]; jobs: Job[]; pin: (run: Run) => void; judge: (run: Run) => void };

function List({ runs, jobs, pin, judge }: ListProps) {
  const busy = jobs.some((job) => job.kind === "judge" && ["queued", "running"].includes(job.state));
  const columns: Column<Run>[] = [
    { name: "Run", class: "run", cell: (run) => <Named run={run} /> },
    { name: "Clusters", class: "wide", cell: (run) => <Clusters run={run} /> },
    {
      name: "Statements",
      class: "short",
      cell: (run) => (
        <>
          {count(Number(run.scores.n_statements ?? 0))}
          {Number(run.scores.n_broken ?? 0) > 0 && <span class="muted"> ({count(Number(run.scores.n_broken))} not kept)</span>}
        </>
      ),
    },
    {
      name: "Held out",
      cell: (run) => (
        <>
          <HeldOut run={run} />
          {!run.scores.held_out && mayEdit() && (
            <>
              {" "}
              <button class="link" disabled={busy} onClick={() => judge(run)}>
                Measure<span class="hidden"> run {run.id}</span>
              </button>
            </>
          )}
        </>
      ),
    },
    {
      name: "Actions",
      class: "act",
      hidden: true,
      cell: (run) =>
        run.pinned ? (
          <span class="badge good">the answer</span>
        ) : (
          mayEdit() && (
            <button class="link" onClick={() => pin(run)}>
              Pin<span class="hidden"> run {run.id}</span>
            </button>
          )
        ),
    },
  ];
  return (
    <div class="panel">
      <Table label="Runs" columns={columns} list={runs} keyOf={(run) => run.id} />
    </div>
  );
}

function Named({ run }: { run: Run }) {
  return (
    <>
      <a href={`/p/${project.value!.id}/map?run=${run.id}`}>{runName(run)}</a>
      <div class="muted">
        {ago(run.created)}, seed {run.seed}
        {run.scores.automatic ? ", by itself" : ""}
        {parameters(run)}
      </div>
    </>
  );
}

/** The clusters of a run with their sizes, the first dozen. */
function Clusters({ run }: { run: Run }) {
  const all = clustersOf(run);
  return (
    <div class="row clusters">
      {all.slice(0, 12).map((one) => (
        <span class="cluster" key={one.number} title={one.name}>
          <span class="swatch" style={{ background: css(colourOf(one.colour)) }} />
          <span class="name">
            <Text>{one.name}</Text>
          </span>
          <span class="muted">{count(one.size)}</span>
        </span>
      ))}
      {all.length > 12 && <span class="muted">and {all.length - 12} more</span>}
    </div>
  );
}

/** How well statements that were held back are kept: a share with its error, and the share by chance. */
function HeldOut({ run }: { run: Run }) {
  const found = run.scores.held_out_scores as Figures | null | undefined;
  if (!found) return <span class="muted">{String(run.scores.held_out ?? "not measured")}</span>;
  return (
    <span title={String(run.scores.held_out)}>
      <strong>{withError(found.share_right, found.standard_error)}</strong>
      <span class="muted">
        {" "}
        of {count(found.n_statements)}, chance {percent(found.chance)}
      </span>
    </span>
  );
}

type Figures = { n_statements: number; share_right: number; standard_error: number | null; chance: number };

function parameters(run: Run): string {
  const told = Object.entries(run.parameters).filter(([, value]) => value !== null);
  return told.length ? `, ${told.map(([name, value]) => `${name} ${JSON.stringify(value)}`).join(", ")}` : "";
}

/** Models compared by held-out statements, with standard errors. */
function Models({ jobs, load }: { jobs: Job[]; load: () => void }) {
  const found = useSignal<Schema["ModelsCompared"] | null>(null);
  const minutes = useSignal("5");
  const k = useSignal("");
  const at = `projects/${project.value!.id}`;
  const mine = jobs.filter((job) => job.kind === "compare");
  const busy = mine.some((job) => ["queued", "running"].includes(job.state));
  const done = mine.filter((job) => job.state === "done").length;
  useEffect(
    () =>
      void attempt(async () => {
        found.value = await get<Schema["ModelsCompared"] | null>(`${at}/models-compared`);
      }),
    [done],
  );
  const start = (event: Event) => {
    event.preventDefault();
    const body = { kind: "compare", n_clusters: k.value ? Number(k.value) : null, time_limit: 60 * Number(minutes.value) };
    void attempt(() => post(`${at}/jobs`, body)).then(load);
  };
  const fit = (row: Schema["ComparedModel"]) =>
    void attempt(() => post(`${at}/jobs`, { kind: "fit", model: row.model, n_clusters: row.n_clusters })).then(load);
  return (
    <section class="panel" aria-label="Which model">
      <h2>Which model?</h2>
      <p class="muted">Each model is fitted without a part of the statements, and judged by that part.</p>
      {mayEdit() && (
        <form class="row" onSubmit={start} aria-label="Compare models">
          <label>
            Clusters <input size={12} inputMode="numeric" pattern="[1-9][0-9]*" title="A whole number from 1 on" placeholder="found" value={k.value} onInput={(e) => (k.value = e.currentTarget.value)} />
          </label>
          <label>
            Minutes at most{" "}
            <select value={minutes.value} onChange={(e) => (minutes.value = e.currentTarget.value)}>
              {["1", "5", "15", "60"].map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          </label>
          <button type="submit" disabled={busy}>
            {busy ? "Comparing …" : "Compare models"}
          </button>
        </form>
      )}
      {found.value ? <ModelTable of={found.value} fit={fit} /> : <p>No models were compared yet.</p>}
    </section>
  );
}

function ModelTable({ of, fit }: { of: Schema["ModelsCompared"]; fit: (row: Schema["ComparedModel"]) => void }) {
  const judged = of.rows.filter((row) => row.score !== null);
  const failed = of.rows.filter((row) => row.score === null && row.remark.startsWith("failed"));
  const columns: Column<Schema["ComparedModel"]>[] = [
    { name: "Model", cell: (row) => row.model },
    { name: "Clusters", class: "number", cell: (row) => row.n_clusters ?? "–" },
    {
      name: "Score ± standard error",
      class: "number",
      cell: (row) => row.score!.toFixed(3) + (row.standard_error === null ? "" : ` ± ${row.standard_error.toFixed(3)}`),
    },
    { name: "Seconds", class: "number", cell: (row) => row.seconds.toFixed(1) },
    { name: "Remark", cell: (row) => (of.rows[of.choice] === row ? <span class="badge good">chosen</span> : row.remark || "–") },
    {
      name: "Actions",
      class: "act",
      hidden: true,
      cell: (row) =>
        row.ours &&
        mayEdit() && (
          <button class="link" onClick={() => fit(row)}>
            Fit it
            <span class="hidden">
              : {row.model}, {row.n_clusters} clusters
            </span>
          </button>
        ),
    },
  ];
  return (
    <>
      <p>
        {of.reason} {of.estimate}
      </p>
      {of.notes.map((note) => (
        <p class="muted" key={note}>
          {note}
        </p>
      ))}
      <Table label="Models by statements held back" class="models" columns={columns} list={judged} keyOf={(row) => of.rows.indexOf(row)} />
      {failed.length > 0 && (
        <details>
          <summary>{plural(failed.length, "model")} could not be judged</summary>
          <ul>
            {failed.map((row, k) => (
              <li key={k}>
                {row.model}: {row.remark}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

/** Two runs: the table of where rows went, and how many moved. */
function Compare({ runs }: { runs: Run[] }) {
  const { query } = placeOf(here.value);
  const second = Number(query.get("second")) || runs.at(-1)!.id;
  const first = Number(query.get("first")) || runs.at(-2)!.id;
  const found = useSignal<Schema["Comparison"] | null>(null);
  useEffect(
    () =>
      void attempt(async () => {
        found.value = await get<Schema["Comparison"]>(`projects/${project.value!.id}/compare?first=${first}&second=${second}`);
      }),
    [first, second],
  );
  const choose = (which: string, value: number) => (
    <select aria-label={which === "first" ? "First run" : "Second run"} value={String(value)} onChange={(e) => setQuery({ [which]: e.currentTarget.value })}>
      {runs.map((run) => (
        <option key={run.id} value={String(run.id)}>
          {runName(run)}
        </option>
      ))}
    </select>
  );
  return (
    <div class="panel">
      <h2>Compare</h2>
      <p class="row">
        {choose("first", first)} with {choose("second", second)}
        {found.value && (
          <span>
            {plural(found.value.n_moved, "row")} moved.{" "}
            <a href={`/p/${project.value!.id}/map?run=${second}&before=${first}`}>Show them on the map</a>
          </span>
        )}
      </p>
      {found.value && <Contingency of={found.value} />}
    </div>
  );
}

function Contingency({ of }: { of: Schema["Comparison"] }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Rows by their clusters in both runs">
      <table class="contingency">
        <Head of={["From \\ to", ...of.columns.map(numeric)]} />
        <tbody>
          {of.counts.map((counts, k) => {
            const most = Math.max(...counts);
            return (
              <tr key={k}>
                <th scope="row">
                  <Text>{of.rows[k] ?? ""}</Text>
                </th>
                {counts.map((n, at) => (
                  <td key={at} class={n > 0 && n === most ? "many" : ""}>
                    {n ? count(n) : "·"}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
