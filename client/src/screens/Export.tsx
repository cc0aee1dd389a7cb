/** Exports of the workbench. */
import { useSignal } from "@preact/signals";
import type { ComponentChild } from "preact";
import { useEffect } from "preact/hooks";
import { bytes, get, type Job, post, type Run } from "../api";
import { Empty, Loading } from "../parts";
import { attempt, jobs as told, lastRun, mayEdit, project } from "../session";
import { runName } from "./Map";

const OF_RUN: [string, string][] = [
  ["clusters.csv", "The table with cluster, name and confidence of each row (CSV)"],
  ["clusters.parquet", "The same as Parquet"],
  ["clusters.h5ad", "The same as cells, with the numbers and the map (.h5ad, for scanpy)"],
  ["script.py", "The Python lines that repeat this run"],
];
const OF_PROJECT: [string, string][] = [
  ["statements.csv", "All statements (CSV)"],
  ["statements.jsonl", "All statements (JSON lines)"],
  ["statements.parquet", "All statements (Parquet)"],
  ["project.zip", "The whole project: log, files and runs, to open elsewhere"],
];

export function Export() {
  const runs = useSignal<Run[] | null>(null);
  const run = useSignal<number | null>(null);
  const at = `projects/${project.value!.id}`;
  useEffect(
    () =>
      void attempt(async () => {
        runs.value = await get<Run[]>(`${at}/runs`);
        run.value ??= (runs.value.find((one) => one.pinned) ?? runs.value.at(-1))?.id ?? null;
      }),
    [lastRun.value],
  );
  if (runs.value === null) return <Loading what="Looking for runs" />;
  const link = (what: string, query = "") => (
    <a class="button" href={`/api/${at}/export/${what}${query}`} download={what}>
      {what}
    </a>
  );
  return (
    <div class="page">
      <div class="head">
        <h1>Export</h1>
      </div>
      <div class="panel">
        <h2>Clusters</h2>
        {runs.value.length === 0 ? (
          <Empty title="No run yet">
            <p>Answer ten questions, or start a run; then the table with its clusters is here.</p>
          </Empty>
        ) : (
          <>
            <p>
              <label>
                Of run{" "}
                <select value={String(run.value)} onChange={(e) => (run.value = Number(e.currentTarget.value))}>
                  {[...runs.value].reverse().map((one) => (
                    <option key={one.id} value={String(one.id)}>
                      {runName(one)}
                    </option>
                  ))}
                </select>
              </label>
            </p>
            <ul class="export-list">
              {OF_RUN.map(([what, words]) => (
                <li key={what}>
                  <span>{words}</span>
                  {link(what, `?run=${run.value}`)}
                </li>
              ))}
              <li>
                <span>The report: one HTML page with pictures</span>
                {run.value !== null && <Report run={run.value} link={link("report.html", `?run=${run.value}`)} />}
              </li>
            </ul>
          </>
        )}
      </div>
      <div class="panel">
        <h2>Statements</h2>
        <ul class="export-list">
          {OF_PROJECT.map(([what, words]) => (
            <li key={what}>
              <span>{words}</span>
              {link(what)}
            </li>
          ))}
        </ul>
      </div>
      <div class="panel">
        <h2>The same on the command line</h2>
        <Command run={run.value} />
      </div>
    </div>
  );
}

/** The command line that repeats a run. */
function Command({ run }: { run: number | null }) {
  const text = useSignal<string | null>(null);
  useEffect(
    () =>
      void attempt(async () => {
        text.value = run === null ? null : new TextDecoder().decode(await bytes(`projects/${project.value!.id}/export/command.txt?run=${run}`));
      }),
    [run],
  );
  if (run === null) return <p class="muted">It is known once there is a run.</p>;
  return (
    <pre class="wrapped" tabIndex={0} aria-label="Command line">
      {text.value ?? "…"}
    </pre>
  );
}

/** A report is made by a job; then it can be loaded. */
function Report({ run, link }: { run: number; link: ComponentChild }) {
  const jobs = useSignal<Job[]>([]);
  const at = `projects/${project.value!.id}`;
  const states = told.value.map((job) => `${job.id}${job.state}`).join();
  useEffect(
    () =>
      void attempt(async () => {
        jobs.value = (await get<Job[]>(`${at}/jobs`)).filter((job) => job.kind === "report");
      }),
    [states, run],
  );
  const mine = jobs.value.filter((job) => job.run === run);
  if (mine.some((job) => job.state === "done")) return <>{link}</>;
  const busy = mine.some((job) => ["queued", "running"].includes(job.state));
  if (!mayEdit()) return <span class="muted">not made yet</span>;
  return (
    <button disabled={busy} onClick={() => void attempt(() => post(`${at}/jobs`, { kind: "report", run }))}>
      {busy ? "Writing …" : "Write the report"}
    </button>
  );
}
