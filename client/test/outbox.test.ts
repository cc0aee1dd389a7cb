import { describe, expect, it } from "vitest";
import { Outbox, type Waiting } from "../src/outbox";
import { Memory } from "./memory";

const answer = (key: string, at = 0): Waiting => ({ question: `q-${key}`, value: "must", key, at });

describe("answers on their way", () => {
  it("are sent in the order in which they were given, and then forgotten", async () => {
    const memory = new Memory();
    const seen: string[] = [];
    const box = new Outbox(memory, "p.", async (list) => list.map((one) => seen.push(one.key)));
    box.put(answer("b", 2));
    box.put(answer("a", 1));
    const { sent } = await box.flush();
    expect(seen).toEqual(["a", "b"]);
    expect([...sent.keys()]).toEqual(["a", "b"]);
    expect(memory.length).toBe(0);
  });

  it("stay when the line is down, and go out later under the same key", async () => {
    const memory = new Memory();
    let down = true;
    const keys: string[] = [];
    const box = new Outbox(memory, "p.", async (list) => {
      list.forEach((one) => keys.push(one.key));
      if (down) throw new Error("no line");
      return list.map((_, k) => k + 1);
    });
    box.put(answer("a"));
    await expect(box.flush()).rejects.toThrow("no line");
    expect(box.waiting).toHaveLength(1);
    down = false;
    await box.flush();
    expect(keys).toEqual(["a", "a"]);
    expect(box.waiting).toHaveLength(0);
  });

  it("do not hold each other up: the one that is refused is named, the others are taken", async () => {
    const taken: string[] = [];
    const box = new Outbox(new Memory(), "p.", async (list) => {
      if (list.some((one) => one.key === "bad")) throw Object.assign(new Error("was not asked"), { status: 422 });
      return list.map((one) => taken.push(one.key));
    });
    ["a", "bad", "c"].forEach((key, k) => box.put(answer(key, k)));
    const { refused } = await box.flush();
    expect(taken).toEqual(["a", "c"]);
    expect(refused.map((one) => [one.answer.key, one.why])).toEqual([["bad", "was not asked"]]);
  });

  it("of two tabs lie side by side", () => {
    const memory = new Memory();
    const [one, two] = [0, 1].map(() => new Outbox(memory, "p.", async () => []));
    one!.put(answer("a"));
    two!.put(answer("b"));
    expect(one!.waiting.map((w) => w.key).sort()).toEqual(["a", "b"]);
    new Outbox(memory, "other.", async () => []);
    expect(new Outbox(memory, "other.", async () => []).waiting).toEqual([]);
  });
});
