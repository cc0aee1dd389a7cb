/** Who takes part, what they did, and links for others. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { get, post, type Schema, send } from "../api";
import { Loading, Text } from "../parts";
import { attempt, isOwner, lastEvent, me, project } from "../session";
import { count, percent } from "../words";

type Person = Schema["PersonShape"];
const ROLES: [string, string][] = [
  ["annotator", "answers questions, sees nobody else's answers"],
  ["editor", "imports, fits and labels too"],
  ["viewer", "looks, and says nothing"],
  ["owner", "may do everything"],
];

export function People() {
  const list = useSignal<Person[] | null>(null);
  const load = () =>
    attempt(async () => {
      list.value = await get<Person[]>(`projects/${project.value!.id}/people`);
    });
  useEffect(() => void load(), [lastEvent.value]);
  const change = (person: Person, what: object) => void attempt(() => send("PATCH", `people/${person.id}`, what)).then(load);
  return (
    <div class="page">
      <div class="head">
        <h1>People</h1>
      </div>
      {isOwner() && <Invite />}
      {list.value === null ? (
        <Loading what="Looking for people" />
      ) : (
        <div class="panel scroll" tabIndex={0} role="region" aria-label="People">
          <table>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Role</th>
                <th scope="col" class="number">
                  Statements
                </th>
                <th scope="col" class="number">
                  Seconds (median)
                </th>
                <th scope="col" class="number">
                  Can't tell
                </th>
                <th scope="col" class="number">
                  Accuracy, estimated
                </th>
                {isOwner() && (
                  <th scope="col">
                    <span class="hidden">Actions</span>
                  </th>
                )}
              </tr>
            </thead>
            <tbody>
              {list.value.map((one) => (
                <tr key={one.id} class={one.disabled ? "away" : ""}>
                  <th scope="row">
                    <Text>{one.name}</Text>
                    {one.id === me.value?.id && <span class="muted"> (you)</span>}
                  </th>
                  <td>
                    {isOwner() ? (
                      <select aria-label={`Role of ${one.name}`} value={one.role} onChange={(e) => change(one, { role: e.currentTarget.value })}>
                        {ROLES.map(([role]) => (
                          <option key={role}>{role}</option>
                        ))}
                      </select>
                    ) : (
                      one.role
                    )}
                  </td>
                  <td class="number">{count(one.n_statements)}</td>
                  <td class="number">{one.median_seconds === null ? "–" : one.median_seconds.toFixed(1)}</td>
                  <td class="number">{one.n_statements ? percent(one.cannot_tell) : "–"}</td>
                  <td class="number">{one.accuracy === null ? "not known yet" : percent(one.accuracy)}</td>
                  {isOwner() && (
                    <td>
                      <button class="link" onClick={() => change(one, { disabled: !one.disabled })}>
                        {one.disabled ? "Let in" : "Shut out"}
                        <span class="hidden"> {one.name}</span>
                      </button>
                    </td>
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
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
    <form class="panel" onSubmit={make} aria-label="Invite somebody">
      <div class="row">
        <label>
          Invite somebody who{" "}
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
        <p class="row" role="status">
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
