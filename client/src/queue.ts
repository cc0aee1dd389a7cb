/** The queue: a question, the next ones ready, and answers that are sent in the background. */
import { unique } from "./unique";
import { computed, signal } from "@preact/signals";
import { type Answer, get, LineDown, post, type Question, type Schema } from "./api";
import { type Keeper, Outbox, type Waiting } from "./outbox";

export const AHEAD = 5;
export type Given = { question: Question; value: Answer["value"]; key: string; event: number | null };
type Progress = Schema["Progress"];

export interface Server {
  ask(n: number): Promise<Question[]>;
  answer(answers: Waiting[]): Promise<number[]>;
  retract(event: number, key: string): Promise<void>;
  later(question: string): Promise<void>;
}

/** The server of a project, for one tab. */
export function serverOf(project: number, tab: string): Server {
  const at = `projects/${project}`;
  return {
    ask: (n) => get(`${at}/ask?n=${n}&tab=${encodeURIComponent(tab)}`),
    answer: async (answers) =>
      (await post<Schema["Appended"]>(`${at}/answers`, answers.map(({ at: _at, ...answer }) => answer))).events,
    retract: (event, key) => post(`${at}/retract`, { event, key }),
    later: (question) => post(`${at}/questions/${encodeURIComponent(question)}/later`),
  };
}

export class Queue {
  /** The question on the screen; null while the first one loads, or when nothing is left. */
  readonly current = signal<Question | null>(null);
  readonly ahead = signal<Question[]>([]);
  readonly last = signal<Given | null>(null);
  readonly nWaiting = signal(0);
  readonly state = signal<"loading" | "ready" | "empty" | "down">("loading");
  readonly problem = signal<string | null>(null);
  readonly progress = signal<Progress | null>(null);
  readonly done = signal(0);
  readonly isReady = computed(() => this.current.value !== null);
  private readonly given: Given[] = [];
  private readonly finished = new Set<string>();
  private readonly unwanted = new Map<string, number | null>(); // answers to take back, by key
  private readonly outbox: Outbox;
  private begun = 0;
  private filling: Promise<void> | null = null;
  private retry: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly server: Server,
    keeper: Keeper,
    prefix: string,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.outbox = new Outbox(keeper, prefix, (answers) => server.answer(answers));
    for (const answer of this.outbox.waiting) this.finished.add(answer.question);
    this.nWaiting.value = this.outbox.waiting.length;
  }

  async start(): Promise<void> {
    await this.deliver();
    await this.fill();
  }

  stop(): void {
    clearTimeout(this.retry);
  }

  /** Answer the question and show the next one; nothing here waits for the server. */
  answer(value: Answer["value"], comment: string | null = null): Given | null {
    const question = this.current.value;
    if (question === null) return null;
    const key = unique();
    const seconds = Math.min((this.now() - this.begun) / 1000, 86400);
    const given: Given = { question, value, key, event: null };
    this.outbox.put({ question: question.id, value, key, seconds, comment, at: Date.now() });
    this.nWaiting.value = this.outbox.waiting.length;
    this.given.push(given);
    this.finished.add(question.id);
    this.last.value = given;
    this.done.value++;
    this.next();
    void this.deliver().then(() => this.fill());
    return given;
  }

  /** Postpone the question. */
  later(): void {
    const question = this.current.value;
    if (question === null) return;
    this.finished.add(question.id);
    this.next();
    void this.server
      .later(question.id)
      .catch(() => undefined)
      .then(() => this.fill());
  }

  /** Take the last answer of this tab back and show its question again. */
  async undo(): Promise<boolean> {
    const given = this.given.pop();
    if (given === undefined) return false;
    this.last.value = this.given.at(-1) ?? null;
    this.done.value--;
    this.finished.delete(given.question.id);
    const held = this.current.value;
    if (held) this.ahead.value = [held, ...this.ahead.value];
    this.show(given.question);
    // An answer that is being sent is taken back once its number is known.
    if (this.outbox.isSending(given.key)) this.unwanted.set(given.key, null);
    else if (!this.outbox.remove(given.key)) this.unwanted.set(given.key, given.event);
    this.nWaiting.value = this.outbox.waiting.length;
    await this.deliver();
    return true;
  }

  /** Drop questions that need no answer any more; the one on the screen stays. */
  drop(questions: string[]): void {
    const gone = new Set(questions);
    const rest = this.ahead.value.filter((one) => !gone.has(one.id));
    if (rest.length === this.ahead.value.length) return;
    this.ahead.value = rest;
    void this.fill();
  }

  private next(): void {
    const [first, ...rest] = this.ahead.value;
    this.ahead.value = rest;
    this.show(first ?? null);
  }

  private show(question: Question | null): void {
    this.current.value = question;
    this.begun = this.now();
    if (question) this.state.value = "ready";
    else if (this.state.value === "ready") this.state.value = "loading";
  }

  /** Send the waiting answers; try again later if the connection is down. */
  async deliver(): Promise<void> {
    if (this.outbox.waiting.length === 0 && this.unwanted.size === 0) return;
    try {
      const { sent, refused } = await this.outbox.flush();
      for (const given of this.given) given.event ??= sent.get(given.key) ?? null;
      for (const key of this.unwanted.keys()) {
        const event = sent.get(key);
        if (event !== undefined) this.unwanted.set(key, event);
      }
      await this.takeBack();
      if (refused[0]) this.problem.value = `An answer was not accepted: ${refused[0].why}`;
    } catch (error) {
      if (!(error instanceof LineDown)) this.problem.value = (error as Error).message;
      this.again();
    }
    this.nWaiting.value = this.outbox.waiting.length;
  }

  private async takeBack(): Promise<void> {
    for (const [key, event] of [...this.unwanted]) {
      if (event === null) continue;
      this.unwanted.delete(key);
      try {
        await this.server.retract(event, `undo:${key}`);
      } catch (error) {
        if (error instanceof LineDown) this.unwanted.set(key, event);
        throw error;
      }
    }
  }

  /** Keep the next questions ready. */
  fill(): Promise<void> {
    this.filling ??= this.filled().finally(() => (this.filling = null));
    return this.filling;
  }

  private async filled(): Promise<void> {
    const held = () => [this.current.value, ...this.ahead.value].filter((one) => one !== null);
    if (held().length > AHEAD) return;
    try {
      // The server names the open questions of this tab first, then new ones.
      const found = await this.server.ask(AHEAD + 1 + this.outbox.waiting.length);
      const known = new Set(held().map((one) => one.id));
      const fresh = found.filter((one) => !known.has(one.id) && !this.finished.has(one.id));
      this.ahead.value = [...this.ahead.value, ...fresh];
      if (this.current.value === null) this.next();
      if (this.current.value === null) this.state.value = "empty";
    } catch (error) {
      if (error instanceof LineDown) {
        if (this.current.value === null) this.state.value = "down";
        this.again();
      } else this.problem.value = (error as Error).message;
    }
  }

  private again(): void {
    clearTimeout(this.retry);
    this.retry = setTimeout(() => void this.deliver().then(() => this.fill()), 2000);
  }
}

/** A name for this tab that lasts as long as the tab; a copy of a tab gets a new one. */
export async function tabName(): Promise<string> {
  const place = "sidelight.tab";
  let name = sessionStorage.getItem(place) ?? unique();
  if (navigator.locks) {
    const mine = await held(name);
    if (!mine) {
      name = unique();
      await held(name);
    }
  }
  sessionStorage.setItem(place, name);
  return name;
}

/** Hold a lock for the life of the page; false if another page holds it. */
function held(name: string): Promise<boolean> {
  return new Promise((answer) => {
    void navigator.locks.request(`sidelight-tab-${name}`, { ifAvailable: true }, (lock) => {
      answer(lock !== null);
      return lock === null ? undefined : new Promise(() => undefined);
    });
  });
}
