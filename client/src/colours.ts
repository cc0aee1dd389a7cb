/** Colours of clusters: by number, the same from run to run; readable on light and dark. */
export type Rgb = [number, number, number];

// Ten hues that differ in lightness too, then lighter and darker ones of them.
const HUES: Rgb[] = [
  [42, 111, 151], [217, 130, 43], [64, 145, 108], [176, 58, 72], [122, 92, 168],
  [140, 109, 70], [206, 110, 160], [90, 150, 190], [154, 160, 42], [62, 170, 165],
];
export const NOISE: Rgb = [140, 146, 154];

/** The colour of a number; −1 is noise. */
export function colourOf(number: number): Rgb {
  if (number < 0) return NOISE;
  const base = HUES[number % HUES.length]!;
  const round = Math.floor(number / HUES.length) % 3;
  if (round === 0) return base;
  const [to, share] = round === 1 ? [255, 0.4] : [0, 0.4];
  return base.map((v) => Math.round(v + (to - v) * share)) as Rgb;
}

export const css = (colour: Rgb): string => `rgb(${colour.join(" ")})`;

export type Painting = {
  labels: Int32Array;
  colours: number[]; // of clusters, by their number in the run
  hidden: Set<number>;
  rows: Int32Array | null; // the row of each point; null if points are rows
  moved?: Uint8Array | null; // by row: others are pale
  faint?: Uint8Array | null; // by row: pale
};

/** Red, green, blue and opacity of each point. */
export function paint(n: number, painting: Painting): Uint8Array {
  const { labels, colours, hidden, rows, moved, faint } = painting;
  const found = new Uint8Array(4 * n);
  const table = colours.map(colourOf);
  for (let k = 0; k < n; k++) {
    const row = rows ? rows[k]! : k;
    const label = labels[row] ?? -1;
    if (hidden.has(label)) continue; // no opacity: not drawn
    const [r, g, b] = label < 0 ? NOISE : (table[label] ?? NOISE);
    found[4 * k] = r;
    found[4 * k + 1] = g;
    found[4 * k + 2] = b;
    found[4 * k + 3] = (moved && !moved[row]) || faint?.[row] ? 28 : 215;
  }
  return found;
}

/** Which rows have another colour in another run. */
export function movedRows(a: Painting, b: Painting): Uint8Array {
  const found = new Uint8Array(a.labels.length);
  for (let row = 0; row < found.length; row++) {
    const first = a.colours[a.labels[row]!] ?? -1;
    const second = b.colours[b.labels[row]!] ?? -1;
    found[row] = first === second ? 0 : 1;
  }
  return found;
}
