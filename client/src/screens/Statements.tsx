/** Statements: a table, contradictions as chains, and the doubtful ones one at a time. */
import { unique } from "../unique";
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { get, post, type Row, type Schema, type Statement, upload } from "../api";
import { listen } from "../keys";
import { Cell, type Column, Empty, Head, Key, Loading, Table, Text } from "../parts";
import { here, placeOf, setQuery } from "../router";
import { attempt, lastEvent, mayEdit, mayLook, project } from "../session";
import { cellText, count, KIND_WORDS, percent, plural } from "../words";

type Conflict = Schema["ConflictShape"];
const PAGE = 100;
const DOUBT = 0.05; // from which probability of being wrong a statement is worth a look

export function Statements() {
  const list = useSignal<Statement[] | null>(null);
  useEffect(
    () =>
      void attempt(async () => {
        list.value = await get<Statement[]>(`projects/${project.value!.id}/statements`);
      }),
    [lastEvent.value],
  );
  const view = placeOf(here.value).query.get("view") ?? "all";
  const views: [string, string][] = mayLook()
    ? [
        ["all", "All"],
        ["conflicts", "Contradictions"],
        ["doubtful", "Doubtful"],
      ]
    : [["all", "Yours"]];
  return (
    <div class="page">
      <div class="head">
        <h1>Statements</h1>
        <div class="row" role="group" aria-label="Which statements">
          {views.map(([name, words]) => (
            <button key={name} aria-pressed={view === name} onClick={() => setQuery({ view: name === "all" ? null : name })}>
              {words}
            </button>
          ))}
          {mayEdit() && <FromFile />}
        </div>
      </div>
      {list.value === null ? (
        <Loading what="Looking for statements" />
      ) : list.value.length === 0 ? (
        <Empty title="Nothing was said yet">
          <p>
            <a href={`/p/${project.value!.id}/queue`}>Answer some questions</a>, or label a selection on the map.
          </p>
        </Empty>
      ) : view === "conflicts" ? (
        <Conflicts list={list.value} />
      ) : view === "doubtful" ? (
        <Resolver />
      ) : (
        <All list={list.value} />
      )}
    </div>
  );
}

/** A statement in words. */
export function inWords(one: Statement): string {
  const [first, second] = one.ids.map(String);
  if (one.kind === "label") return `${first} is ${one.class}`;
  if (one.kind === "not_label") return `${first} is not ${one.class}`;
  if (one.kind === "must") return `${first} and ${second} are the same`;
  if (one.kind === "cannot") return `${first} and ${second} are different`;
  return second === undefined ? `${first}: can't tell` : `${first} and ${second}: can't tell`;
}

const retract = (one: { event: number; position: number }) =>
  post(`projects/${project.value!.id}/retract`, { event: one.event, positions: [one.position], key: unique() });

function All({ list }: { list: Statement[] }) {
  const kind = useSignal("");
  const who = useSignal("");
  const text = useSignal("");
  const page = useSignal(0);
  const people = [...new Set(list.map((one) => String(one.annotator ?? "")))].sort();
  const wanted = text.value.trim().toLowerCase();
  const found = list
    .filter((one) => !kind.value || one.kind === kind.value)
    .filter((one) => !who.value || String(one.annotator ?? "") === who.value)
    .filter((one) => !wanted || inWords(one).toLowerCase().includes(wanted))
    .reverse();
  const shown = found.slice(page.value * PAGE, (page.value + 1) * PAGE);
  return (
    <div class="panel">
      <div class="row filters">
        <label>
          Kind{" "}
          <select value={kind.value} onChange={(e) => ((kind.value = e.currentTarget.value), (page.value = 0))}>
            <option value="">all</option>
            {Object.entries(KIND_WORDS).map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        </label>
        {people.length > 1 && (
          <label>
            By{" "}
            <select value={who.value} onChange={(e) => ((who.value = e.currentTarget.value), (page.value = 0))}>
              <option value="">everybody</option>
              {people.map((name) => (
                <option key={name} value={name}>
                  {name || "no name"}
                </option>
              ))}
            </select>
          </label>
        )}
        <label>
          Contains <input value={text.value} onInput={(e) => ((text.value = e.currentTarget.value), (page.value = 0))} />
        </label>
        <span class="muted" role="status">
          {plural(found.length, "statement")}
        </span>
      </div>
      {shown.length > 0 ? (
        <Table label="Statements" class="statements" columns={COLUMNS} list={shown} keyOf={(one) => `${one.event}-${one.position}`} rowClass={(one) => (isAway(one) ? "away" : "")} />
      ) : (
        <Empty title="No statement fits">
          <p>
            <button class="link" onClick={() => ((kind.value = ""), (who.value = ""), (text.value = ""))}>
              Show all
            </button>
          </p>
        </Empty>
      )}
      {found.length > PAGE && (
        <p class="row">
          <button disabled={page.value === 0} onClick={() => page.value--}>
            Newer
          </button>
          <span>
            {count(page.value * PAGE + 1)} to {count(Math.min((page.value + 1) * PAGE, found.length))} of {count(found.length)}
          </span>
          <button disabled={(page.value + 1) * PAGE >= found.length} onClick={() => page.value++}>
            Older
          </button>
        </p>
      )}
    </div>
  );
}

const isAway = (one: Statement) => one.retracted_by !== null;

const COLUMNS: Column<Statement>[] = [
  { name: "Statement", class: "plain", cell: (one) => <Text>{inWords(one)}</Text> },
  { name: "By", cell: (one) => <Text>{String(one.annotator ?? "–")}</Text> },
  { name: "Seconds", class: "number spare", cell: (one) => (one.seconds === null ? "–" : one.seconds.toFixed(1)) },
  { name: "Weight", class: "number spare", cell: (one) => cellText(one.weight) },
  {
    name: "Last run",
    class: "short",
    cell: (one) => (one.error !== null ? `${percent(one.error)} wrong` : one.kept === null ? "–" : one.kept ? "kept" : "not kept"),
  },
  { name: "Actions", class: "act", hidden: true, cell: (one) => <TakeBack one={one} /> },
];

function TakeBack({ one }: { one: Statement }) {
  const act = () => (isAway(one) ? post(`projects/${project.value!.id}/retract`, { event: one.retracted_by, key: unique() }) : retract(one));
  return (
    <button class="link" onClick={() => void attempt(act)}>
      {isAway(one) ? "Put back" : "Take back"}
      <span class="hidden">: {inWords(one)}</span>
    </button>
  );
}

const CHAINS = 100; // contradictions that the server tells at most

/** Contradictions, shortest chains first. */
function Conflicts({ list }: { list: Statement[] }) {
  const found = useSignal<Conflict[] | null>(null);
  useEffect(
    () =>
      void attempt(async () => {
        const all = await get<Conflict[]>(`projects/${project.value!.id}/conflicts`);
        found.value = all.sort((a, b) => a.chain.length - b.chain.length);
      }),
    [lastEvent.value],
  );
  const byPlace = useMemo(() => new Map(list.map((one) => [placeKey(one), one])), [list]);
  if (found.value === null) return <Loading what="Looking for contradictions" />;
  if (found.value.length === 0) {
    return (
      <Empty title="No contradictions">
        <p>No statements contradict each other.</p>
      </Empty>
    );
  }
  const n = found.value.length;
  return (
    <>
      <p class="muted">
        {n === 1
          ? "1 contradiction. At least one of its statements is wrong."
          : `${n < CHAINS ? `${n} contradictions` : `The first ${n} contradictions`}, the shortest first. In each, at least one statement is wrong.`}
      </p>
      {found.value.map((conflict) => (
        <div class="panel chain" key={[conflict.statement, ...conflict.chain].map(placeKey).join()}>
          <Link of={byPlace.get(placeKey(conflict.statement))} />
          <p class="muted">{conflict.chain.length > 1 ? "cannot be true together with all of these:" : "cannot be true together with this:"}</p>
          <ul>
            {conflict.chain.map((place) => (
              <li key={placeKey(place)}>
                <Link of={byPlace.get(placeKey(place))} />
              </li>
            ))}
          </ul>
        </div>
      ))}
    </>
  );
}

const placeKey = (place: { event: number; position: number }) => `${place.event}-${place.position}`;

/** One statement of a contradiction, and what can be done about it. */
function Link({ of: one }: { of: Statement | undefined }) {
  if (!one) return null; // said since the list was read; the next one has it
  return (
    <div class="link-of">
      <span>
        <Text>{inWords(one)}</Text>{" "}
        <span class="muted">
          (<Text>{String(one.annotator ?? "no name")}</Text>)
        </span>
      </span>
      {mayEdit() && (
        <span class="acts">
          <button class="link" onClick={() => void attempt(() => retract(one))}>
            Take back<span class="hidden">: {inWords(one)}</span>
          </button>
          <AskAgain one={one} />
        </span>
      )}
    </div>
  );
}

async function askAgain(one: Statement): Promise<void> {
  await post(`projects/${project.value!.id}/ask-again`, { event: one.event, position: one.position });
}

function AskAgain({ one }: { one: Statement }) {
  const done = useSignal(false);
  if (done.value) return <span class="muted">will be asked again</span>;
  return (
    <button class="link" onClick={() => void attempt(() => askAgain(one)).then(() => (done.value = true))}>
      Ask again<span class="hidden">: {inWords(one)}</span>
    </button>
  );
}

/** The most doubtful statements, one at a time. */
function Resolver() {
  const left = useSignal<Statement[] | null>(null);
  const rows = useSignal<Row[]>([]);
  const said = useSignal("");
  useEffect(
    () =>
      void attempt(async () => {
        const found = await get<Statement[]>(`projects/${project.value!.id}/doubtful`);
        left.value = found.filter((one) => one.kept === false || (one.error ?? 0) >= DOUBT);
      }),
    [],
  );
  const one = left.value?.[0] ?? null;
  useEffect(() => {
    rows.value = [];
    if (!one) return;
    const ids = [one.i, one.j].filter((row) => row !== null).join(",");
    void attempt(async () => {
      rows.value = await get<Row[]>(`projects/${project.value!.id}/rows?ids=${ids}`);
    });
  }, [one?.event, one?.position]);
  const act = (what: string) => {
    const now = left.value?.[0];
    if (!now || !mayEdit()) return;
    void attempt(async () => {
      if (what === "retract") await retract(now);
      if (what === "askAgain") await askAgain(now);
      said.value = `${what === "keep" ? "Kept" : what === "retract" ? "Taken back" : "Another person will be asked"}: ${inWords(now)}.`;
      left.value = (left.value ?? []).slice(1);
    });
  };
  useEffect(() => listen(["keep", "retract", "askAgain"], act), []);
  if (left.value === null) return <Loading what="Looking for doubtful statements" />;
  if (!one) {
    return (
      <Empty title="No doubtful statement is left">
        <p>{said.value || "The last run agrees with all statements, or there is no run yet."}</p>
      </Empty>
    );
  }
  return (
    <div class="resolver">
      <div class="panel">
        <p class="muted">{plural(left.value.length, "statement")} to look at, the most doubtful first.</p>
        <h2>
          <Text>{inWords(one)}</Text>
        </h2>
        <p>
          Said by <Text>{String(one.annotator ?? "no name")}</Text>
          {one.seconds !== null && ` in ${one.seconds.toFixed(1)} s`}.{" "}
          {one.error !== null ? `By the last run it is wrong with a probability of ${percent(one.error)}.` : "The last run does not keep it."}
        </p>
        {mayEdit() && (
          <p class="row">
            <button class="main" onClick={() => act("keep")}>
              <Key of="keep" /> Keep
            </button>
            <button onClick={() => act("retract")}>
              <Key of="retract" /> Take back
            </button>
            <button onClick={() => act("askAgain")}>
              <Key of="askAgain" /> Ask another person
            </button>
          </p>
        )}
        <div class="scroll" tabIndex={0} role="region" aria-label="The rows">
          <table>
            <Head of={["Column", ...rows.value.map((row) => String(row.id))]} />
            <tbody>
              {Object.keys(rows.value[0]?.cells ?? {}).map((name) => (
                <tr key={name}>
                  <th scope="row">
                    <Text>{name}</Text>
                  </th>
                  {rows.value.map((row) => (
                    <td key={row.row}>
                      <Cell row={row} name={name} />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </div>
      <p class="said" role="status" aria-live="polite">
        {said.value}
      </p>
    </div>
  );
}

/** Statements from a file; contradictions are shown before and after. */
function FromFile() {
  const take = (file: File | undefined) =>
    file &&
    attempt(async () => {
      await upload(`projects/${project.value!.id}/statements?name=${encodeURIComponent(file.name)}`, file);
      const found = await get<Conflict[]>(`projects/${project.value!.id}/conflicts`);
      setQuery({ view: found.length ? "conflicts" : null });
    });
  return (
    <label class="button file">
      Add from a file
      <input type="file" accept=".csv,.tsv,.jsonl,.json,.parquet" onChange={(event) => void take(event.currentTarget.files?.[0])} />
    </label>
  );
}
