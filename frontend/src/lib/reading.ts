/** A position where a JSON text is wrapped for display; the text itself does not change. */
export interface Break {
  at: number;
  depth: number;
}

/** A part of the text that is shown as one line. */
export interface ReadingLine {
  from: number;
  to: number;
  depth: number;
}

const READING_LIMIT = 200_000;

/** Return line breaks after JSON punctuation, outside strings and where the text has no line end. */
export function breaks(text: string): Break[] {
  if (text.length > READING_LIMIT || !/^\s*[[{]/.test(text)) return [];
  const found: Break[] = [];
  let depth = 0;
  let inString = false;
  const add = (at: number) => {
    if (at > 0 && at < text.length && text[at - 1] !== "\n" && text[at] !== "\n" && found.at(-1)?.at !== at)
      found.push({ at, depth });
  };
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (inString) {
      if (char === "\\") at += 1;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === "{" || char === "[") {
      depth += 1;
      if (!closesNext(text, at)) add(at + 1);
    } else if (char === "}" || char === "]") {
      depth = Math.max(0, depth - 1);
      if (!opensBefore(text, at)) add(at);
    } else if (char === ",") add(at + 1);
  }
  return found;
}

/** Split text at its line ends and at the breaks. */
export function readingLines(text: string): ReadingLine[] {
  const lines: ReadingLine[] = [];
  let from = 0;
  let depth = 0;
  const cut = (to: number, next: number) => {
    lines.push({ from, to, depth });
    from = to;
    depth = next;
  };
  let after = 0;
  for (const one of [...breaks(text), { at: text.length, depth: 0 }]) {
    for (let own = text.indexOf("\n", after); own !== -1 && own < one.at; own = text.indexOf("\n", after)) {
      cut(own + 1, 0);
      after = own + 1;
    }
    if (one.at < text.length) cut(one.at, one.depth);
    after = Math.max(after, one.at);
  }
  lines.push({ from, to: text.length, depth });
  return lines;
}

function closesNext(text: string, at: number): boolean {
  return text[at + 1] === "}" || text[at + 1] === "]";
}

function opensBefore(text: string, at: number): boolean {
  return text[at - 1] === "{" || text[at - 1] === "[";
}
