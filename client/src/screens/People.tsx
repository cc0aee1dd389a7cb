/** People, their answers, and invitation links. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { get, post, type Schema, send } from "../api";
import { type Column, Loading, Table, Text } from "../parts";
import { attempt, isOwner, lastEvent, me, project } from "../session";
import { count, percent } from "../words";

type Person = Schema["PersonShape"];
const ROLES: [string, string][] = [
  ["annotator", "answers questions, does not see the answers of others"],
  ["editor", "imports, fits and labels too"],
  ["viewer", "looks, and says nothing"],
  ["owner", "may do everything"],
];

const KINDS: [string, string][] = [
  ["pair,label", "pairs and classes"],
  ["pair", "only pairs"],
  ["label", "only classes"],
];
const SECOND = [0, 0.05, 0.1, 0.2, 0.5];

export function People() {
  const found = useSignal<Schema["PeopleShape"] | null>(null);
  const at = `projects/${project.value!.id}`;
  const load = () =>
    attempt(async () => {
      found.value = await get<Schema["PeopleShape"]>(`${at}/people`);
    });
  useEffect(() => void load(), [lastEvent.value]);
  const change = (person: Person, what: object) => void attempt(() => send("PATCH", `people/${person.id}`, what)).then(load);
  const ask = (what: Schema["Asking"]) =>
    void attempt(async () => {
      found.value = await send<Schema["PeopleShape"]>("PATCH", `${at}/asking`, what);
    });
  return (
    <div class="page">
      <div class="head">
        <h1>People</h1>
      </div>
      {isOwner() && <Invite />}
      {found.value === null ? (
        <Loading what="Looking for people" />
      ) : (
        <>
          <Everybody list={found.value.people} change={change} ask={ask} />
          <Agreement of={found.value} ask={ask} />
        </>
      )}
    </div>
  );
}

type Changes = { change: (person: Person, what: object) => void; ask: (what: Schema["Asking"]) => void };

function Everybody({ list, change, ask }: { list: Person[] } & Changes) {
  const columns: Column<Person>[] = [
    {
      name: "Name",
      cell: (one) => (
        <>
          <Text>{one.name}</Text>
          {one.id === me.value?.id && <span class="muted"> (you)</span>}
        </>
      ),
    },
    { name: "Role", cell: (one) => <Role one={one} change={change} /> },
    { name: "Is asked about", cell: (one) => <Kinds one={one} ask={ask} /> },
    { name: "Statements", class: "number", cell: (one) => count(one.n_statements) },
    { name: "Seconds", class: "number", cell: (one) => (one.median_seconds === null ? "–" : one.median_seconds.toFixed(1)) },
    { name: "Can't tell", class: "number", cell: (one) => (one.n_statements ? percent(one.cannot_tell) : "–") },
    { name: "Accuracy", class: "number", cell: accuracyWords },
  ];
  if (isOwner()) {
    columns.push({
      name: "Actions",
      class: "act",
      hidden: true,
      // An owner who removes their own access could not get it back.
      cell: (one) =>
        one.id !== me.value?.id && (
          <button class="link" onClick={() => change(one, { disabled: !one.disabled })}>
            {one.disabled ? "Let in" : "Shut out"}
            <span class="hidden"> {one.name}</span>
          </button>
        ),
    });
  }
  return (
    <div class="panel">
      <Table label="People" columns={columns} list={list} keyOf={(one) => one.id} rowClass={(one) => (one.disabled ? "away" : "")} />
      <p class="muted">
        Seconds are the median of an answer. Accuracy is estimated from how well a person's answers fit the data and the answers of others; in brackets
        the interval that holds it in nine of ten cases.
      </p>
    </div>
  );
}

function Role({ one, change }: { one: Person; change: Changes["change"] }) {
  if (!isOwner()) return <>{one.role}</>;
  return (
    <select aria-label={`Role of ${one.name}`} value={one.role} onChange={(e) => change(one, { role: e.currentTarget.value })}>
      {ROLES.map(([role]) => (
        <option key={role}>{role}</option>
      ))}
    </select>
  );
}

/** Which questions a person gets. */
function Kinds({ one, ask }: { one: Person; ask: Changes["ask"] }) {
  const kinds = one.kinds.join();
  if (one.role === "viewer") return <>–</>;
  if (!isOwner()) return <>{KINDS.find(([value]) => value === kinds)?.[1]}</>;
  return (
    <select
      aria-label={`Questions for ${one.name}`}
      value={kinds}
      onChange={(e) => ask({ kinds: { [one.id]: e.currentTarget.value.split(",") as ("pair" | "label")[] } })}
    >
      {KINDS.map(([value, words]) => (
        <option key={value} value={value}>
          {words}
        </option>
      ))}
    </select>
  );
}

/** An estimate and its interval: "93 % (86 to 98)". */
export function accuracyWords(one: Pick<Person, "accuracy" | "accuracy_interval">): string {
  if (one.accuracy === null) return "not known yet";
  const ends = one.accuracy_interval?.map((end) => (100 * end).toFixed(0));
  return ends ? `${percent(one.accuracy)} (${ends.join(" to ")})` : percent(one.accuracy);
}

const AGREEMENT: Column<Schema["PeopleShape"]["agreement"][number]>[] = [
  {
    name: "Two people",
    cell: (one) => (
      <>
        <Text>{String(one.first)}</Text> and <Text>{String(one.second)}</Text>
      </>
    ),
  },
  { name: "Answered by both", class: "number", cell: (one) => count(one.n) },
  { name: "The same answer", class: "number", cell: (one) => `${count(one.n_same)} (${percent(one.n_same / one.n)})` },
];

/** Who agrees with whom; and how many questions two people get, so that it can be known. */
function Agreement({ of, ask }: { of: Schema["PeopleShape"]; ask: (what: Schema["Asking"]) => void }) {
  return (
    <section class="panel" aria-label="Agreement">
      <h2>Do they agree?</h2>
      {of.agreement.length === 0 ? (
        <p>No two people have answered the same question yet.</p>
      ) : (
        <Table label="Agreement of every two people" columns={AGREEMENT} list={of.agreement} keyOf={(one) => `${one.first} ${one.second}`} />
      )}
      {isOwner() ? (
        <p>
          <label>
            Questions that a second person gets too, without knowing it:{" "}
            <select value={String(of.second)} onChange={(e) => ask({ second: Number(e.currentTarget.value) })}>
              {SECOND.map((share) => (
                <option key={share} value={String(share)}>
                  {share ? percent(share) : "none"}
                </option>
              ))}
            </select>
          </label>
        </p>
      ) : (
        <p class="muted">{of.second ? `${percent(of.second)} of the questions are asked of two people.` : "No question is sent to a second person."}</p>
      )}
    </section>
  );
}

function Invite() {
  const role = useSignal("annotator");
  const link = useSignal<string | null>(null);
  const copied = useSignal(false);
  const make = (event: Event) => {
    event.preventDefault();
    copied.value = false;
    void attempt(async () => {
      link.value = (await post<Schema["Invitation"]>("people/invitations", { role: role.value })).link;
    });
  };
  const copy = async () => {
    await navigator.clipboard.writeText(link.value ?? "");
    copied.value = true;
  };
  return (
    <form class="panel" onSubmit={make} aria-label="Invite a person">
      <div class="row">
        <label>
          Invite a person as{" "}
          <select value={role.value} onChange={(e) => (role.value = e.currentTarget.value)}>
            {ROLES.map(([name, words]) => (
              <option key={name} value={name}>
                {name}: {words}
              </option>
            ))}
          </select>
        </label>
        <button class="main" type="submit">
          Make a link
        </button>
      </div>
      {link.value && (
        <p class="row ends" role="status">
          <label class="field">
            Works once, for three days
            <input readOnly size={60} value={link.value} onFocus={(e) => e.currentTarget.select()} />
          </label>
          {"clipboard" in navigator && (
            <button type="button" onClick={() => void copy()}>
              {copied.value ? "Copied" : "Copy"}
            </button>
          )}
        </p>
      )}
    </form>
  );
}
