import { useComputed, useSignal } from "@preact/signals";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { online } from "./api";
import { Empty, Loading, Problem } from "./parts";
import { here, placeOf, startRouting } from "./router";
import { Export } from "./screens/Export";
import { Import } from "./screens/Import";
import { MapScreen } from "./screens/Map";
import { People } from "./screens/People";
import { Projects } from "./screens/Projects";
import { QueueScreen } from "./screens/Queue";
import { Runs } from "./screens/Runs";
import { Statements } from "./screens/Statements";
import { attempt, jobs, loadMe, mayAnswer, mayLook, me, noteDeed, openProject, project, trouble, whoIsHere } from "./session";
import { applyTheme, nextTheme, theme } from "./theme";

const SCREENS = [
  { name: "queue", title: "Queue", may: mayAnswer, show: QueueScreen },
  { name: "map", title: "Map", may: mayLook, show: MapScreen },
  { name: "statements", title: "Statements", may: () => true, show: Statements },
  { name: "runs", title: "Runs", may: mayLook, show: Runs },
  { name: "people", title: "People", may: mayLook, show: People },
  { name: "export", title: "Export", may: mayLook, show: Export },
];

const WORKING: Record<string, string> = {
  fit: "Fitting",
  layout: "Computing the map",
  report: "Writing a report",
  judge: "Holding out",
  compare: "Comparing models",
};

/** Who else has this project open: a few names, then a number. */
function Here() {
  const others = whoIsHere.value.filter((name) => name !== me.value?.name);
  if (!project.value || others.length === 0) return null;
  const shown = others.slice(0, 2).join(", ") + (others.length > 2 ? ` and ${others.length - 2} more` : "");
  return (
    <span class="here" role="status" title={others.join(", ")}>
      <span class="dot" aria-hidden="true" /> <bdi dir="auto">{shown}</bdi>
      <span class="hidden"> {others.length === 1 ? "is" : "are"} here</span>
    </span>
  );
}

function Header() {
  const place = useComputed(() => placeOf(here.value)).value;
  const running = jobs.value.filter((job) => job.state === "running");
  return (
    <header class="top">
      <a class="brand" href="/">
        sidelight
      </a>
      {project.value && (
        <>
          <span class="project-name" title={project.value.name}>
            <bdi dir="auto">{project.value.name}</bdi>
          </span>
          <nav aria-label="Screens">
            {SCREENS.filter((one) => one.may()).map((one) => (
              <a
                key={one.name}
                href={`/p/${project.value!.id}/${one.name}`}
                aria-current={place.screen === one.name ? "page" : undefined}
              >
                {one.title}
              </a>
            ))}
          </nav>
        </>
      )}
      <span class="spacer" />
      {running[0] && (
        <span class="working">
          {WORKING[running[0].kind] ?? "Working"}{" "}
          {running[0].progress > 0 ? `${Math.round(100 * running[0].progress)} %` : "…"}
        </span>
      )}
      <Here />
      {!online.value && (
        <span class="offline" role="status">
          The line is down
        </span>
      )}
      <button class="quiet" onClick={nextTheme} aria-label={`Colours: ${theme.value}. Change`}>
        {theme.value === "auto" ? "Auto" : theme.value === "dark" ? "Dark" : "Light"}
      </button>
      {me.value && (
        <span class="who" title={`Your role: ${me.value.role}`}>
          <bdi dir="auto">{me.value.name}</bdi>
        </span>
      )}
    </header>
  );
}

function Screen() {
  const place = placeOf(here.value);
  const ready = useSignal(false);
  useEffect(() => {
    ready.value = false;
    void attempt(() => openProject(place.project)).then(() => (ready.value = true));
  }, [place.project]);
  useEffect(() => {
    const title = SCREENS.find((one) => one.name === place.screen)?.title ?? (place.screen === "import" ? "Import" : "Projects");
    document.title = project.value ? `${title} · ${project.value.name}` : `${title} · sidelight`;
  });
  if (place.screen === "projects") return <Projects />;
  if (place.screen === "import") return <Import />;
  const screen = SCREENS.find((one) => one.name === place.screen);
  if (!screen) {
    return (
      <Empty alone title="There is no such page">
        <p>
          <a href="/">All projects</a>
        </p>
      </Empty>
    );
  }
  if (!project.value) {
    if (!ready.value || !trouble.value) return <Loading what="Opening the project" />;
    return (
      <Empty alone title="This project cannot be opened">
        <p>
          <a href="/">All projects</a>
        </p>
      </Empty>
    );
  }
  if (!screen.may()) {
    return (
      <Empty alone title={`${screen.title} is not for your role`}>
        <p>You take part as {me.value?.role}. The owner can give you another role.</p>
        <p>{mayAnswer() ? <a href={`/p/${project.value.id}/queue`}>Answer questions</a> : <a href="/">All projects</a>}</p>
      </Empty>
    );
  }
  return <screen.show key={project.value.id} />;
}

function Page() {
  useEffect(() => void attempt(loadMe), []);
  return (
    <>
      <a class="skip" href="#main">
        To the content
      </a>
      <Header />
      <Problem text={trouble.value} onClose={() => (trouble.value = null)} />
      <main id="main" tabIndex={-1}>
        {me.value ? <Screen /> : trouble.value ? null : <Loading what="Opening" />}
      </main>
    </>
  );
}

for (const kind of ["pointerdown", "keydown"]) addEventListener(kind, noteDeed, { capture: true });
applyTheme();
startRouting();
render(<Page />, document.getElementById("page")!);
