/** One question at a time: an answer and the next question in one key. */
import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { type Answer, get, type Question, type Row, type Schema, send } from "../api";
import { compareTexts, type Part } from "../differ";
import { listen } from "../keys";
import { Cell, Dialog, Empty, isLong, isPicture, Key, KeyDialog, Loading, Picture, pictureAt, Problem, Text } from "../parts";
import { Queue, serverOf, tabName } from "../queue";
import { attempt, lastEvent, mayEdit, mayLook, me, project, reloadProject, withdrawn } from "../session";
import { between, capital, cellText, KIND_WORDS, plural } from "../words";

const ACTIONS = ["must", "cannot", "unsure", "later", "undo", "newClass", "keys", "class"];

export function QueueScreen() {
  const queue = useSignal<Queue | null>(null);
  useEffect(() => {
    let gone = false;
    void tabName().then((tab) => {
      if (gone) return;
      const prefix = `sidelight.answer.${project.value!.id}.${me.value!.id}.`;
      queue.value = new Queue(serverOf(project.value!.id, tab), localStorage, prefix);
      void queue.value.start();
    });
    return () => {
      gone = true;
      queue.value?.stop();
    };
  }, []);
  return queue.value ? <Asking queue={queue.value} /> : <Loading what="Looking for a question" />;
}

function Asking({ queue }: { queue: Queue }) {
  const comment = useSignal("");
  const naming = useSignal(false);
  const helping = useSignal(false);
  const said = useSignal("");
  const words = project.value!.words;
  const question = queue.current.value;

  const answer = (value: Answer["value"]) => {
    const given = queue.answer(value, comment.value.trim() || null);
    if (!given) return;
    comment.value = "";
    naming.value = false;
    said.value = `${valueWords(value, words)}.`;
  };
  const act = (action: string) => {
    const isPair = queue.current.value?.kind === "pair";
    if (action.startsWith("class:")) {
      const chosen = queue.current.value?.classes[Number(action.slice(6))];
      if (!isPair && chosen !== undefined) answer(chosen);
    } else if (action === "keys") helping.value = true;
    else if (action === "undo") void undo();
    else if (action === "later") later();
    else if (action === "unsure") answer("cannot_tell");
    else if (action === "newClass") naming.value = !isPair;
    else if (isPair) answer(action);
  };
  const later = () => {
    queue.later();
    said.value = "Put off.";
  };
  const undo = async () => {
    const before = queue.last.value;
    if (!before) said.value = "There is nothing to take back in this tab.";
    else {
      said.value = `Taken back: ${valueWords(before.value, words)}.`;
      await queue.undo();
    }
  };
  useEffect(() => listen(ACTIONS, act), [queue]);
  useEffect(() => queue.drop(withdrawn.value), [withdrawn.value]);
  // Pictures of the next questions are loaded before they are asked.
  useEffect(() => {
    for (const row of queue.ahead.value.flatMap((one) => one.rows)) {
      for (const name of project.value!.images) if (name in row.cells) new Image().src = pictureAt(row.row, name);
    }
  }, [queue.ahead.value]);
  useEffect(() => {
    void refresh(queue);
    if (queue.state.value === "empty") void queue.fill(); // what others say opens new questions
  }, [lastEvent.value]);

  return (
    <div class="queue">
      <section class="question" aria-label="Question">
        <Problem text={queue.problem.value} onClose={() => (queue.problem.value = null)} />
        {question ? (
          <>
            <h1>{question.kind === "pair" ? asksPair(words) : "Which class is this?"}</h1>
            <Buttons question={question} words={words} answer={answer} later={later} naming={naming.value} setNaming={(on) => (naming.value = on)} />
            {question.kind === "pair" ? <Pair question={question} /> : <One row={question.rows[0]!} />}
            <label class="comment">
              Comment
              <input
                value={comment.value}
                maxLength={2000}
                placeholder="goes with your answer"
                onInput={(event) => (comment.value = event.currentTarget.value)}
              />
            </label>
          </>
        ) : (
          <Nothing queue={queue} />
        )}
        <p class="said" role="status" aria-live="polite">
          {said.value}
        </p>
      </section>
      <Aside queue={queue} undo={undo} help={() => (helping.value = true)} />
      {helping.value && <KeyDialog actions={ACTIONS} onClose={() => (helping.value = false)} />}
    </div>
  );
}

async function refresh(queue: Queue): Promise<void> {
  try {
    queue.progress.value = await get<Schema["Progress"]>(`projects/${project.value!.id}/progress`);
  } catch {
    // The counts stay as they are until the connection is back.
  }
}

const asksPair = (words: Record<string, string>) => `${capital(words.must ?? "same kind")}, or ${words.cannot ?? "different kind"}?`;

export function valueWords(value: Answer["value"], words: Record<string, string>): string {
  if (value === "must") return capital(words.must ?? "same kind");
  if (value === "cannot") return capital(words.cannot ?? "different kind");
  if (value === "cannot_tell") return capital(words.unsure ?? "can't tell");
  const text = String(value);
  return text.startsWith("not:") ? `Not ${text.slice(4)}` : text;
}

type ButtonProps = {
  question: Question;
  words: Record<string, string>;
  answer: (value: Answer["value"]) => void;
  later: () => void;
  naming: boolean;
  setNaming: (on: boolean) => void;
};

function Buttons({ question, words, answer, later, naming, setNaming }: ButtonProps) {
  const isPair = question.kind === "pair";
  return (
    <div class={isPair ? "answers pair" : "answers"} role="group" aria-label="Answers">
      {isPair ? (
        <>
          <button class="main" onClick={() => answer("must")}>
            <Key of="must" /> {capital(words.must ?? "same kind")}
          </button>
          <button class="main" onClick={() => answer("cannot")}>
            <Key of="cannot" /> {capital(words.cannot ?? "different kind")}
          </button>
        </>
      ) : (
        <>
          {question.classes.map((name, k) => (
            <button class="main" key={k} onClick={() => answer(name)}>
              {k < 9 && <Key of={String(k + 1)} />} <Text>{String(name)}</Text>
            </button>
          ))}
          <button onClick={() => setNaming(true)}>
            <Key of="newClass" /> New class
          </button>
        </>
      )}
      <button onClick={() => answer("cannot_tell")}>
        <Key of="unsure" /> {capital(words.unsure ?? "can't tell")}
      </button>
      <button onClick={later}>
        <Key of="later" /> Later
      </button>
      {naming && <NewClass answer={answer} close={() => setNaming(false)} />}
    </div>
  );
}

function NewClass({ answer, close }: { answer: (value: string) => void; close: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <form
      class="new-class"
      onSubmit={(event) => {
        event.preventDefault();
        const name = field.current?.value.trim();
        if (name) answer(name);
      }}
      onKeyDown={(event) => event.key === "Escape" && close()}
    >
      <label>
        Name of the new class <input ref={field} maxLength={200} required />
      </label>
      <button type="submit">Answer</button>
    </form>
  );
}

/** Two rows side by side, with their differences marked by a sign and by weight. */
function Pair({ question }: { question: Question }) {
  const [first, second] = question.rows as [Row, Row];
  const differs = new Set(question.differs);
  return (
    <div class="pair-grid" role="table" aria-label="The two rows">
      <div role="row" class="pair-head">
        <span role="columnheader" class="name">
          <span class="hidden">Column</span>
        </span>
        <span role="columnheader">
          <Text>{String(first.id)}</Text>
        </span>
        <span role="columnheader">
          <Text>{String(second.id)}</Text>
        </span>
      </div>
      {picturesFirst(first).map((name) =>
        isPicture(name) ? (
          <div role="row" class="long pictures" key={name}>
            <span role="rowheader" class="name">
              <Text>{name}</Text>
            </span>
            {[first, second].map((row) => (
              <span role="cell" key={row.row}>
                <Picture row={row} name={name} />
              </span>
            ))}
          </div>
        ) : (
          <PairRow key={name} name={name} first={first.cells[name]} second={second.cells[name]} differs={differs.has(name)} />
        ),
      )}
    </div>
  );
}

/** The columns of a row, pictures before the rest. */
function picturesFirst(row: Row): string[] {
  const names = Object.keys(row.cells);
  return [...names.filter(isPicture), ...names.filter((name) => !isPicture(name))];
}

function PairRow(props: { name: string; first: unknown; second: unknown; differs: boolean }) {
  const { name, first, second, differs } = props;
  const isText = typeof first === "string" && typeof second === "string" && (isLong(first) || isLong(second));
  const parts = useMemo(() => (isText ? compareTexts(String(first), String(second)) : null), [first, second]);
  return (
    <div role="row" class={`${differs ? "differs" : ""} ${isText ? "long" : ""}`}>
      <span role="rowheader" class="name">
        <Text>{name}</Text>
        {differs && (
          <span class="mark" aria-label="differs">
            {" "}
            ≠
          </span>
        )}
      </span>
      {[first, second].map((value, k) => (
        <span role="cell" key={k}>
          {parts ? <Marked parts={parts[k as 0 | 1]} /> : <Text>{cellText(value)}</Text>}
        </span>
      ))}
    </div>
  );
}

function Marked({ parts }: { parts: Part[] }) {
  return (
    <div dir="auto" class="prose">
      {parts.map((part, k) => (part.differs ? <mark key={k}>{part.text}</mark> : part.text))}
    </div>
  );
}

function One({ row }: { row: Row }) {
  return (
    <table class="one">
      <caption>
        <Text>{String(row.id)}</Text>
      </caption>
      <tbody>
        {picturesFirst(row).map((name) => (
          <tr key={name}>
            <th scope="row">
              <Text>{name}</Text>
            </th>
            <td>
              <Cell row={row} name={name} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Nothing({ queue }: { queue: Queue }) {
  if (queue.state.value === "empty") {
    return (
      <Empty alone title="Nothing left to ask">
        <p>All questions about this table have been asked. Look at the result.</p>
        {mayLook() && (
          <p>
            <a href={`/p/${project.value!.id}/map`}>To the map</a>
          </p>
        )}
      </Empty>
    );
  }
  if (queue.state.value === "down") {
    return (
      <Empty alone title="The line is down">
        <p>
          {queue.nWaiting.value
            ? `${plural(queue.nWaiting.value, "answer")} wait in this browser and will be sent when the server is back.`
            : "The next questions come when the server is back."}
        </p>
      </Empty>
    );
  }
  return <Loading what="Looking for a question" />;
}

function Aside({ queue, undo, help }: { queue: Queue; undo: () => void; help: () => void }) {
  const progress = queue.progress.value;
  const total = useComputed(() => Object.values(queue.progress.value?.counts ?? {}).reduce((sum, n) => sum + n, 0));
  const stopping = progress?.stopping;
  const wording = useSignal(false);
  return (
    <aside class="beside" aria-label="How far it is">
      <h2>{mayLook() ? "So far" : "You so far"}</h2>
      <dl class="figures">
        <div>
          <dt>Statements</dt>
          <dd>{total.value}</dd>
        </div>
        {Object.entries(progress?.counts ?? {}).map(([kind, n]) => (
          <div key={kind}>
            <dt>{KIND_WORDS[kind] ?? kind}</dt>
            <dd>{n}</dd>
          </div>
        ))}
        <div>
          <dt>Expected error</dt>
          <dd>{between(progress?.expected_error)}</dd>
        </div>
      </dl>
      <p class="stopping">{stopping ? stopping.sentence : "When you may stop is known after some answers."}</p>
      <Last queue={queue} />
      <p class="row">
        <button onClick={undo} disabled={!queue.last.value}>
          <Key of="undo" /> Take back
        </button>
        <button class="quiet keys" onClick={help}>
          <Key of="keys" /> Keys
        </button>
        {mayEdit() && (
          <button class="quiet" onClick={() => (wording.value = true)}>
            Words
          </button>
        )}
      </p>
      {wording.value && <WordsDialog onClose={() => (wording.value = false)} />}
      <p class="saved" role="status">
        {queue.nWaiting.value ? `${plural(queue.nWaiting.value, "answer")} not sent yet` : "All answers are saved"}
      </p>
    </aside>
  );
}

/** The words on the buttons of this project, such as "same person". */
function WordsDialog({ onClose }: { onClose: () => void }) {
  const words = useSignal<Record<string, string>>({ ...project.value!.words });
  const save = (event: Event) => {
    event.preventDefault();
    void attempt(async () => {
      await send("PATCH", `projects/${project.value!.id}`, { words: words.value });
      await reloadProject();
      onClose();
    });
  };
  const asked: [string, string][] = [
    ["must", "For two rows that belong together"],
    ["cannot", "For two rows that do not"],
    ["unsure", "For who can't tell"],
  ];
  return (
    <Dialog title="Words on the buttons" onClose={onClose}>
      <form onSubmit={save} class="actions">
        {asked.map(([name, label]) => (
          <label class="field" key={name}>
            {label}
            <input required maxLength={60} value={words.value[name] ?? ""} onInput={(e) => (words.value = { ...words.value, [name]: e.currentTarget.value })} />
          </label>
        ))}
        <button class="main" type="submit">
          Save
        </button>
      </form>
    </Dialog>
  );
}

/** The last answer, and why it was asked: shown after the answer, not before. */
function Last({ queue }: { queue: Queue }) {
  const last = queue.last.value;
  const why = useSignal<string | null>(null);
  useEffect(() => void (why.value = null), [last?.key]);
  if (!last) return <p class="last muted">Your last answer will be shown here.</p>;
  const ask = async () => {
    try {
      const found = await get<Schema["Why"]>(`projects/${project.value!.id}/questions/${last.question.id}`);
      why.value = found.audit && !found.reason ? "drawn at random, to check the result" : found.reason || "no reason was kept";
    } catch (error) {
      why.value = (error as Error).message;
    }
  };
  return (
    <div class="last">
      <p>
        Last: <Text>{last.question.rows.map((row) => String(row.id)).join(" and ")}</Text>:{" "}
        <strong>
          <Text>{valueWords(last.value, project.value!.words)}</Text>
        </strong>
      </p>
      {why.value ? (
        <p class="muted">Asked because: {why.value}</p>
      ) : (
        <button class="link" onClick={ask}>
          Why was I asked this?
        </button>
      )}
    </div>
  );
}
