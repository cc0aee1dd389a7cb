/** Where two texts differ, word by word. */
export type Part = { text: string; differs: boolean };

const MOST = 400; // words; longer texts are compared by whether a word is in the other at all

/** The words of two texts, marked where the other text has something else. */
export function compareTexts(first: string, second: string): [Part[], Part[]] {
  const a = words(first);
  const b = words(second);
  const [inA, inB] = a.length > MOST || b.length > MOST ? shared(a, b) : common(a, b);
  return [joined(a, inA), joined(b, inB)];
}

function words(text: string): string[] {
  return text.match(/\s+|[\p{L}\p{N}\p{M}]+|[^\s\p{L}\p{N}\p{M}]/gu) ?? [];
}

function shared(a: string[], b: string[]): [boolean[], boolean[]] {
  const [ofA, ofB] = [new Set(a), new Set(b)];
  return [a.map((word) => ofB.has(word)), b.map((word) => ofA.has(word))];
}

/** The longest common subsequence. */
function common(a: string[], b: string[]): [boolean[], boolean[]] {
  const width = b.length + 1;
  const longest = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i * width + j] =
        a[i] === b[j]
          ? longest[(i + 1) * width + j + 1]! + 1
          : Math.max(longest[(i + 1) * width + j]!, longest[i * width + j + 1]!);
    }
  }
  const inA = a.map(() => false);
  const inB = b.map(() => false);
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) inA[i++] = inB[j++] = true;
    else if (longest[(i + 1) * width + j]! >= longest[i * width + j + 1]!) i++;
    else j++;
  }
  return [inA, inB];
}

function joined(parts: string[], same: boolean[]): Part[] {
  const found: Part[] = [];
  parts.forEach((text, k) => {
    const differs = !same[k] && text.trim() !== "";
    const last = found.at(-1);
    if (last && (last.differs === differs || (text.trim() === "" && !same[k]))) last.text += text;
    else found.push({ text, differs });
  });
  return found;
}
