/** Answers that have not reached the server: kept in the browser, one entry each, sent in order.
 *
 * Each entry has its own place, so that two tabs never write over each other; the server takes an
 * answer with a key that it knows already as the same answer.
 */
import type { Answer } from "./api";

export interface Keeper {
  readonly length: number;
  key(index: number): string | null;
  getItem(name: string): string | null;
  setItem(name: string, value: string): void;
  removeItem(name: string): void;
}

export type Waiting = Answer & { key: string; at: number };
export type Sender = (answers: Waiting[]) => Promise<number[]>;
export type Outcome = { sent: Map<string, number>; refused: { answer: Waiting; why: string }[] };

/** An error that sending again does not solve. */
export const isFinal = (error: unknown): boolean => {
  const status = (error as { status?: number }).status;
  return status === 422 || status === 404;
};

const BATCH = 100;

export class Outbox {
  private running: Promise<Outcome> | null = null;
  private readonly sending = new Set<string>();

  constructor(
    private readonly keeper: Keeper,
    private readonly prefix: string,
    private readonly send: Sender,
  ) {}

  /** The waiting answers, oldest first. */
  get waiting(): Waiting[] {
    const found: Waiting[] = [];
    for (let k = 0; k < this.keeper.length; k++) {
      const name = this.keeper.key(k);
      if (!name?.startsWith(this.prefix)) continue;
      const text = this.keeper.getItem(name);
      if (text) found.push(JSON.parse(text));
    }
    return found.sort((a, b) => a.at - b.at);
  }

  put(answer: Waiting): void {
    this.keeper.setItem(this.prefix + answer.key, JSON.stringify(answer));
  }

  /** Take an answer out before it is sent; false if it is not here any more. */
  remove(key: string): boolean {
    const there = this.keeper.getItem(this.prefix + key) !== null;
    this.keeper.removeItem(this.prefix + key);
    return there;
  }

  /** Whether an answer is being sent: it is not known yet whether the server has it. */
  isSending(key: string): boolean {
    return this.sending.has(key);
  }

  /** Send the waiting answers; one flush at a time. */
  flush(): Promise<Outcome> {
    this.running ??= this.flushed().finally(() => (this.running = null));
    return this.running;
  }

  private async flushed(): Promise<Outcome> {
    const outcome: Outcome = { sent: new Map(), refused: [] };
    for (;;) {
      const batch = this.waiting.slice(0, BATCH);
      if (batch.length === 0) return outcome;
      await this.sendAll(batch, outcome);
    }
  }

  private async sendAll(batch: Waiting[], outcome: Outcome): Promise<void> {
    try {
      for (const answer of batch) this.sending.add(answer.key);
      const events = await this.send(batch).finally(() => this.sending.clear());
      batch.forEach((answer, k) => {
        outcome.sent.set(answer.key, events[k] ?? 0);
        this.remove(answer.key);
      });
    } catch (error) {
      if (!isFinal(error)) throw error;
      // The server accepts a list completely or not at all: find the answer that it refuses.
      if (batch.length > 1) {
        for (const answer of batch) await this.sendAll([answer], outcome);
        return;
      }
      for (const answer of batch) {
        this.remove(answer.key);
        outcome.refused.push({ answer, why: (error as Error).message });
      }
    }
  }
}
