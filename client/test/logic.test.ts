import { describe, expect, it } from "vitest";
import { inWords, LineDown } from "../src/api";
import { colourOf, movedRows, paint } from "../src/colours";
import { compareTexts } from "../src/differ";
import { actionOf, clashes, DEFAULTS, merged } from "../src/keys";
import { readPoints } from "../src/mapdata";
import { PointIndex, pointSize, thinned, withoutOverlap } from "../src/mapview";
import { placeOf } from "../src/router";
import { guess, preparing } from "../src/screens/Import";
import { accuracyWords } from "../src/screens/People";
import { pointsOf, stepWords, unpack, withStep } from "../src/selection";
import { attempt, noteDeed, trouble } from "../src/session";
import { ago, between, cellText, withError } from "../src/words";

const pressed = (key: string, more = {}) => ({ key, ctrlKey: false, metaKey: false, altKey: false, ...more });

describe("keys", () => {
  it("do what the map says, whatever their case, and nothing with a modifier", () => {
    const actions = ["must", "cannot", "undo", "class"];
    expect(actionOf(pressed("M"), actions, DEFAULTS)).toBe("must");
    expect(actionOf(pressed("ArrowLeft"), actions, DEFAULTS)).toBe("undo");
    expect(actionOf(pressed("3"), actions, DEFAULTS)).toBe("class:2");
    expect(actionOf(pressed("3"), ["must"], DEFAULTS)).toBeNull();
    expect(actionOf(pressed("c", { ctrlKey: true }), actions, DEFAULTS)).toBeNull();
    expect(actionOf(pressed("x"), actions, DEFAULTS)).toBeNull();
  });

  it("can be changed; digits stay classes, and a key that does two things is named", () => {
    const own = merged({ must: "j", cannot: "5", nonsense: "q" });
    expect([own.must, own.cannot, own.nonsense]).toEqual(["j", "c", undefined]);
    expect(clashes({ ...own, unsure: "j" }, ["must", "unsure", "later"])).toEqual(["must", "unsure"]);
  });
});

describe("texts", () => {
  it("are marked where they differ, and only there", () => {
    const [a, b] = compareTexts("the quick brown fox", "the slow brown dog");
    expect(a.filter((p) => p.differs).map((p) => p.text.trim())).toEqual(["quick", "fox"]);
    expect(b.filter((p) => p.differs).map((p) => p.text.trim())).toEqual(["slow", "dog"]);
    expect(a.map((p) => p.text).join("")).toBe("the quick brown fox");
  });

  it("of thousands of words and of other scripts work too", () => {
    const long = Array.from({ length: 3000 }, (_, k) => `w${k}`).join(" ");
    const [a] = compareTexts(long, long + " more");
    expect(a.every((p) => !p.differs)).toBe(true);
    const [c, d] = compareTexts("שלום עולם", "שלום חבר");
    expect([c, d].map((parts) => parts.filter((p) => p.differs).map((p) => p.text.trim()))).toEqual([["עולם"], ["חבר"]]);
    expect(compareTexts("", "")).toEqual([[], []]);
  });
});

describe("colours", () => {
  it("belong to numbers, thirty different ones", () => {
    const all = Array.from({ length: 30 }, (_, k) => colourOf(k).join());
    expect(new Set(all).size).toBe(30);
    expect(colourOf(-1)).toEqual([140, 146, 154]);
  });

  const base = { labels: Int32Array.from([0, 1, -1, 1]), colours: [4, 2], hidden: new Set<number>(), rows: null };

  it("of points are those of their clusters; what is hidden has no opacity", () => {
    const found = paint(4, { ...base, hidden: new Set([1]) });
    expect([...found.slice(0, 3)]).toEqual(colourOf(4));
    expect([3, 7, 11, 15].map((k) => found[k]! > 0)).toEqual([true, false, true, false]);
    const sample = paint(2, { ...base, rows: Int32Array.from([1, 2]) });
    expect([...sample.slice(0, 3)]).toEqual(colourOf(2));
  });

  it("tell which rows moved between runs, even if clusters are numbered anew", () => {
    const other = { ...base, labels: Int32Array.from([1, 0, -1, 1]), colours: [2, 4] };
    expect([...movedRows(base, other)]).toEqual([0, 0, 0, 1]);
    const pale = paint(4, { ...base, moved: movedRows(base, other) });
    expect(pale[3]).toBeLessThan(pale[15]!);
  });
});

describe("names on the map", () => {
  it("give way to those of larger clusters, which come first", () => {
    const box = (x: number, y: number) => ({ at: [x, y] as [number, number], wide: 40, high: 10 });
    expect(withoutOverlap([box(0, 0), box(30, 5), box(30, 12), box(80, 0)])).toEqual([true, false, true, true]);
  });
});

describe("selections", () => {
  it("begin with a step that adds", () => {
    const step = { op: "subtract", by: "all" } as const;
    expect(withStep([], step, "subtract")).toEqual([{ op: "add", by: "all" }]);
    expect(withStep([step], { op: "add", by: "unlabelled" }, "intersect")).toHaveLength(2);
    expect(withStep([step], { op: "add", by: "unlabelled" }, "replace")).toHaveLength(1);
  });

  it("come as bits and become points, of a sample too", () => {
    const bits = btoa(String.fromCharCode(0b00000101, 0b1));
    const mask = unpack(bits, 9);
    expect([...mask]).toEqual([1, 0, 1, 0, 0, 0, 0, 0, 1]);
    expect([...pointsOf(mask, null, 9)]).toEqual([0, 2, 8]);
    expect([...pointsOf(mask, Int32Array.from([1, 2, 8]), 3)]).toEqual([1, 2]);
  });

  it("are told in words", () => {
    expect(stepWords({ op: "intersect", by: "unlabelled" }, () => "")).toBe("keep only: without a label");
    expect(stepWords({ op: "add", by: "cluster", run: 3, clusters: [1] }, () => "Barolo")).toBe("add: cluster Barolo of run 3");
  });
});

describe("the map", () => {
  it("finds the nearest point like a search through all of them", () => {
    let state = 7;
    const random = () => (state = (state * 48271) % 2147483647) / 1073741824 - 1;
    const xy = Float32Array.from({ length: 2000 }, random);
    const index = new PointIndex(xy);
    for (let trial = 0; trial < 50; trial++) {
      const [x, y, reach] = [random(), random(), 0.05];
      let best: number | null = null;
      let least = reach * reach;
      for (let k = 0; k < 1000; k++) {
        const far = (xy[2 * k]! - x) ** 2 + (xy[2 * k + 1]! - y) ** 2;
        if (far < least) [best, least] = [k, far];
      }
      expect(index.nearest(x, y, reach)).toBe(best);
    }
  });

  it("draws many points small, and larger when one looks closer", () => {
    expect(pointSize(100, 1.08)).toBeGreaterThan(pointSize(100_000, 1.08));
    expect(pointSize(1000, 0.1)).toBeGreaterThan(pointSize(1000, 1.08));
  });

  it("thins a long path and reads points as the server sends them", () => {
    const path = Array.from({ length: 1001 }, (_, k) => [k, 0] as [number, number]);
    expect(thinned(path, 100)).toHaveLength(100);
    const buffer = new ArrayBuffer(24);
    new Int32Array(buffer, 0, 2).set([5, 9]);
    new Float32Array(buffer, 8, 4).set([0, 0.5, 1, -1]);
    const points = readPoints(buffer, 100);
    expect([...points.rows!]).toEqual([5, 9]);
    expect([...points.xy]).toEqual([0, 0.5, 1, -1]);
    expect(readPoints(buffer, 2).rows).toBeNull();
  });
});

describe("imports", () => {
  const preview = {
    n_rows: 2,
    columns: [
      { name: "wine", type: "text" as const, missing: 0 },
      { name: "ash", type: "number" as const, missing: 0 },
      { name: "note", type: "text" as const, missing: 1 },
    ],
    rows: [
      { wine: "a", ash: 1, note: "x" },
      { wine: "b", ash: 2, note: null },
    ],
    problems: [],
    notes: [],
  };

  it("guess what columns are for, and tell the server", () => {
    const purposes = guess(preview);
    expect(purposes).toEqual({ wine: "id", ash: "feature", note: "show" });
    expect(preparing(purposes, "", "median")).toMatchObject({ id: "wine", drop: ["note"], one_hot: [], impute: "median", show: [] });
    const photos = { ...preview, columns: [...preview.columns, { name: "photo", type: "text" as const, missing: 0 }], rows: preview.rows.map((row, k) => ({ ...row, photo: `a/${k}.JPG` })) };
    expect(guess(photos).photo).toBe("image");
    const slips = { ...preview, columns: [{ name: "cm", type: "text" as const, missing: 0 }], rows: ["1,5", "2", "x", "0,25"].map((cm) => ({ cm })) };
    expect(guess(slips).cm).toBe("feature");
    expect(guess({ ...slips, rows: ["1,5", "a", "x", "b"].map((cm) => ({ cm })) }).cm).toBe("id");
    expect(preparing(guess(photos), "", "")).toMatchObject({ images: ["photo"], drop: ["note", "photo"] });
    expect(preparing(purposes, "", "", { sep: ";", decimal: "," })).toMatchObject({ sep: ";", decimal: "," });
    expect(preparing({ ...purposes, note: "ignore" }, "none", "")).toMatchObject({ show: ["ash"], drop: ["note"], scale: "none" });
  });
});

describe("words", () => {
  it("are short and plain", () => {
    expect(between([0.04, 0.021, 0.058])).toBe("2.1 to 5.8 %");
    expect(between(null)).toBe("not known yet");
    expect([withError(0.912, 0.034), withError(1, null)]).toEqual(["91 ± 3 %", "100 %"]);
    expect(ago(1000, 1000 + 7200)).toBe("2 hours ago");
    expect([cellText(null), cellText(0.123456789), cellText(1234)]).toEqual(["–", "0.12346", "1,234"]);
    expect(inWords("your role may not.")).toBe("Your role may not.");
    expect(inWords("said.csv: the kind is 'musst'.")).toBe("said.csv: the kind is 'musst'.");
    expect(inWords([{ loc: ["body", "name"], msg: "too long" }])).toBe("name: too long");
  });

  it("give an accuracy with its interval, where there is one", () => {
    expect(accuracyWords({ accuracy: 0.93, accuracy_interval: [0.861, 0.979] })).toBe("93 % (86 to 98)");
    expect(accuracyWords({ accuracy: 0.93, accuracy_interval: null })).toBe("93 %");
    expect(accuracyWords({ accuracy: null, accuracy_interval: null })).toBe("not known yet");
  });

  it("of addresses name screens", () => {
    expect(placeOf("/p/3/map?run=2")).toMatchObject({ screen: "map", project: 3 });
    expect(placeOf("/").screen).toBe("projects");
    expect(placeOf("/p/x").screen).toBe("nowhere");
  });
});

describe("what went wrong", () => {
  it("stays while the page reads on, until somebody does something else", async () => {
    await attempt(() => Promise.reject(new Error("No.")));
    await attempt(async () => "read again");
    expect(trouble.value).toBe("No.");
    await new Promise((done) => setTimeout(done, 5));
    noteDeed();
    await attempt(async () => "done");
    expect(trouble.value).toBeNull();
    await attempt(() => Promise.reject(new LineDown()));
    await attempt(async () => "back");
    expect(trouble.value).toBeNull();
  });
});
