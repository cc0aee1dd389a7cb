/** Who is here, which project is open, and the news about it from the server. */
import { signal } from "@preact/signals";
import { type Details, get, LineDown, online, type Schema } from "./api";

export const me = signal<Schema["Me"] | null>(null);
export const project = signal<Details | null>(null);
export const lastEvent = signal(0);
export const lastRun = signal<number | null>(null);
export const jobs = signal<{ id: number; kind: string; state: string; progress: number }[]>([]);
/** Names of those who have this project open; empty for annotators. */
export const whoIsHere = signal<string[]>([]);
/** Questions of this person that the answers of others have settled. */
export const withdrawn = signal<string[]>([]);
/** The last error, in a sentence; shown at the top until it is closed. */
export const trouble = signal<string | null>(null);

export const mayLook = () => me.value !== null && me.value.role !== "annotator";
export const mayAnswer = () => me.value !== null && me.value.role !== "viewer";
export const mayEdit = () => me.value?.role === "editor" || me.value?.role === "owner";
export const isOwner = () => me.value?.role === "owner";

export async function loadMe(): Promise<void> {
  me.value = await get<Schema["Me"]>("me");
}

let stream: EventSource | null = null;

export async function openProject(number: number | null): Promise<void> {
  if (number === project.value?.id) return;
  stream?.close();
  stream = null;
  project.value = null;
  lastEvent.value = 0;
  lastRun.value = null;
  jobs.value = [];
  whoIsHere.value = [];
  withdrawn.value = [];
  if (number === null) return;
  project.value = await get<Details>(`projects/${number}`);
  follow(number);
}

export async function reloadProject(): Promise<void> {
  const number = project.value?.id;
  if (number !== undefined) project.value = await get<Details>(`projects/${number}`);
}

function follow(number: number): void {
  const source = new EventSource(`/api/projects/${number}/stream`);
  stream = source;
  const told = <T>(name: string, act: (data: T) => void) =>
    source.addEventListener(name, (event) => act(JSON.parse((event as MessageEvent).data)));
  source.onopen = () => (online.value = true);
  source.onerror = () => (online.value = false);
  told<{ last: number }>("log", (log) => (lastEvent.value = log.last));
  told<{ last: number | null }>("run", (run) => (lastRun.value = run.last));
  told<string[]>("here", (names) => (whoIsHere.value = names));
  told<string[]>("withdrawn", (ids) => (withdrawn.value = ids));
  told<typeof jobs.value>("jobs", (list) => (jobs.value = list));
}

let lastDeed = 0;
let troubleSince = 0;
/** The user did something: an earlier message may go. */
export const noteDeed = (): void => void (lastDeed = performance.now());

/**
 * Do something and show an error at the top of the page. It stays there while the page only
 * refreshes; the next successful action of the user removes it.
 */
export async function attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    const found = await work();
    if (trouble.value === DOWN || lastDeed > troubleSince) trouble.value = null;
    return found;
  } catch (error) {
    trouble.value = error instanceof LineDown ? DOWN : (error as Error).message;
    troubleSince = performance.now();
    return undefined;
  }
}

const DOWN = "The server cannot be reached. Try again when it is back.";
