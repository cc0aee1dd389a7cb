import { describe, expect, it } from "vitest";
import { LineDown, type Question } from "../src/api";
import { AHEAD, Queue, type Server } from "../src/queue";
import { Memory } from "./memory";

const question = (id: string): Question => ({ id, kind: "pair", rows: [], classes: [], differs: [] });

/** A server with endless questions, which can go down. */
class Fake implements Server {
  down = false;
  asked = 0;
  open: string[] = [];
  answers: { question: string; key: string; value: unknown }[] = [];
  retracted: number[] = [];
  later_: string[] = [];

  private check() {
    if (this.down) throw new LineDown();
  }
  async ask(n: number) {
    this.check();
    while (this.open.length < n) this.open.push(`q${this.asked++}`);
    return this.open.slice(0, n).map(question);
  }
  async answer(list: { question: string; key: string; value: unknown }[]) {
    this.check();
    return list.map((one) => {
      this.open = this.open.filter((id) => id !== one.question);
      const at = this.answers.findIndex((old) => old.key === one.key);
      return at >= 0 ? at + 1 : this.answers.push(one);
    });
  }
  async retract(event: number) {
    this.check();
    this.retracted.push(event);
  }
  async later(id: string) {
    this.check();
    this.later_.push(id);
    this.open = this.open.filter((one) => one !== id);
  }
}

const settled = () => new Promise((done) => setTimeout(done, 5));

async function started(server = new Fake(), memory = new Memory()) {
  const queue = new Queue(server, memory, "p.");
  await queue.start();
  return { queue, server, memory };
}

describe("the queue", () => {
  it("shows a question and has five more ready", async () => {
    const { queue } = await started();
    expect(queue.current.value?.id).toBe("q0");
    expect(queue.ahead.value).toHaveLength(AHEAD);
  });

  it("answers and shows the next one at once, and asks for more behind", async () => {
    const { queue, server } = await started();
    queue.answer("must");
    expect(queue.current.value?.id).toBe("q1"); // before anything was sent
    await settled();
    expect(server.answers.map((one) => one.value)).toEqual(["must"]);
    expect(queue.ahead.value).toHaveLength(AHEAD);
    expect(queue.nWaiting.value).toBe(0);
  });

  it("forgets questions that were withdrawn, but not the one that somebody looks at", async () => {
    const { queue, server } = await started();
    server.open = server.open.filter((id) => !["q0", "q2"].includes(id));
    queue.drop(["q0", "q2"]);
    expect(queue.current.value?.id).toBe("q0");
    await settled();
    expect(queue.ahead.value.map((one) => one.id)).not.toContain("q2");
    expect(queue.ahead.value.length).toBeGreaterThanOrEqual(AHEAD);
  });

  it("never shows the same question twice, however fast one types", async () => {
    const { queue } = await started();
    const seen: string[] = [];
    for (let k = 0; k < 40; k++) {
      if (!queue.current.value) await settled();
      seen.push(queue.current.value!.id);
      queue.answer(k % 2 ? "must" : "cannot");
      if (k % 3 === 0) await settled();
    }
    expect(new Set(seen).size).toBe(40);
  });

  it("goes on without a line and sends everything later, once", async () => {
    const { queue, server, memory } = await started();
    server.down = true;
    for (let k = 0; k < 4; k++) queue.answer("must");
    await settled();
    expect(queue.nWaiting.value).toBe(4);
    expect(memory.length).toBe(4);
    expect(queue.current.value).not.toBeNull();
    server.down = false;
    await queue.deliver();
    expect(server.answers).toHaveLength(4);
    expect(queue.nWaiting.value).toBe(0);
    queue.stop();
  });

  it("finds what another page left behind, and does not ask it again", async () => {
    const { queue, server, memory } = await started();
    server.down = true;
    queue.answer("cannot");
    await settled();
    queue.stop();
    server.down = false;
    const again = await started(server, memory);
    expect(server.answers).toHaveLength(1);
    expect(again.queue.current.value?.id).toBe("q1");
  });

  it("takes an answer back: before it was sent, and after", async () => {
    const { queue, server } = await started();
    queue.answer("must");
    await settled();
    await queue.undo();
    expect(queue.current.value?.id).toBe("q0");
    expect(server.retracted).toEqual([1]);
    server.down = true;
    queue.answer("cannot");
    await settled();
    await queue.undo();
    expect(queue.nWaiting.value).toBe(0);
    server.down = false;
    queue.answer("must");
    await settled();
    expect(server.answers.map((one) => one.value)).toEqual(["must", "must"]);
    expect(await queue.undo().then(() => queue.undo())).toBe(false);
    queue.stop();
  });

  it("takes an answer back that is on its way", async () => {
    const server = new Fake();
    let arrive = () => {};
    const plain = server.answer.bind(server);
    const { queue } = await started(server);
    server.answer = async (list) => {
      await new Promise<void>((done) => (arrive = done));
      return plain(list);
    };
    queue.answer("must");
    const undone = queue.undo();
    expect(queue.current.value?.id).toBe("q0");
    arrive();
    await undone;
    expect(server.answers).toHaveLength(1);
    expect(server.retracted).toEqual([1]);
  });

  it("puts a question off", async () => {
    const { queue, server } = await started();
    queue.later();
    expect(queue.current.value?.id).toBe("q1");
    await settled();
    expect(server.later_).toEqual(["q0"]);
  });

  it("says when nothing is left, and when the line is down", async () => {
    const empty = new Fake();
    empty.ask = async () => [];
    expect((await started(empty)).queue.state.value).toBe("empty");
    const down = new Fake();
    down.down = true;
    const { queue } = await started(down);
    expect(queue.state.value).toBe("down");
    queue.stop();
  });
});
