/** All projects. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { get, type Project, send, upload } from "../api";
import { Empty, Loading, Text } from "../parts";
import { go } from "../router";
import { attempt, mayAnswer, mayEdit, mayLook } from "../session";
import { ago, between, count } from "../words";

export function Projects() {
  const list = useSignal<Project[] | null>(null);
  const archived = useSignal(false);
  const load = () =>
    attempt(async () => {
      list.value = await get<Project[]>(`projects?archived=${archived.value}`);
    });
  useEffect(() => void load(), [archived.value]);
  const change = (project: Project, what: object) =>
    attempt(async () => {
      await send("PATCH", `projects/${project.id}`, what);
      await load();
    });

  return (
    <div class="page">
      <div class="head">
        <h1>{archived.value ? "Archived projects" : "Projects"}</h1>
        {mayEdit() && (
          <div class="row">
            <a class="button main" href="/import">
              New project
            </a>
            <ProjectFile />
          </div>
        )}
      </div>
      {list.value === null ? (
        <Loading what="Looking for projects" />
      ) : list.value.length === 0 ? (
        <Empty title={archived.value ? "Nothing is archived" : "There is no project yet"}>
          {!archived.value && (
            <p>
              {mayEdit() ? (
                <>
                  Bring a table: <a href="/import">import one</a>, and the first question comes a moment later.
                </>
              ) : (
                "Ask the owner to import a table."
              )}
            </p>
          )}
        </Empty>
      ) : (
        <ul class="cards">
          {list.value.map((one) => (
            <Card key={one.id} project={one} change={change} />
          ))}
        </ul>
      )}
      {mayEdit() && (
        <p>
          <button class="link" onClick={() => (archived.value = !archived.value)}>
            {archived.value ? "Show projects in use" : "Show archived projects"}
          </button>
        </p>
      )}
    </div>
  );
}

function Card({ project, change }: { project: Project; change: (project: Project, what: object) => void }) {
  const first = mayAnswer() ? "queue" : "map";
  return (
    <li class="card">
      <h2>
        <a href={`/p/${project.id}/${first}`}>
          <Text>{project.name}</Text>
        </a>
      </h2>
      <dl class="figures">
        <div>
          <dt>Rows</dt>
          <dd>{count(project.n_rows)}</dd>
        </div>
        <div>
          <dt>Statements</dt>
          <dd>{count(project.n_statements)}</dd>
        </div>
        <div>
          <dt>People</dt>
          <dd>{count(project.n_people)}</dd>
        </div>
        <div>
          <dt>Expected error</dt>
          <dd>{between(project.expected_error)}</dd>
        </div>
      </dl>
      <p class="muted">
        Begun {ago(project.created)}. {project.last_run ? `Last run: number ${project.last_run}.` : "No run yet."}
      </p>
      <p class="row">
        {mayAnswer() && (
          <a class="button" href={`/p/${project.id}/queue`}>
            Answer<span class="hidden"> questions of {project.name}</span>
          </a>
        )}
        {mayLook() && (
          <a class="button" href={`/p/${project.id}/map`}>
            Map<span class="hidden"> of {project.name}</span>
          </a>
        )}
        {mayEdit() && (
          <button class="quiet" onClick={() => change(project, { archived: !project.archived })}>
            {project.archived ? "Bring back" : "Archive"}
            <span class="hidden"> {project.name}</span>
          </button>
        )}
      </p>
    </li>
  );
}

/** A project file that was exported here or elsewhere. */
function ProjectFile() {
  const read = (file: File | undefined) =>
    file &&
    attempt(async () => {
      const made = await upload<Project>("projects/file", file);
      go(`/p/${made.id}/map`);
    });
  return (
    <label class="button file">
      Open a project file
      <input type="file" accept=".zip" onChange={(event) => read(event.currentTarget.files?.[0])} />
    </label>
  );
}
