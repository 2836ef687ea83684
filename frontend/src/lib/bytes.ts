/** Readable views of bytes. They never parse and serialise a value, because that could change it. */

export interface Cell {
  text: string;
  at: number;
  length: number;
  invalid: boolean;
}

export interface Line {
  at: number;
  indent: number;
  cells: Cell[];
}

export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}

/** Decode bytes to characters with offsets; each byte that is not UTF-8 becomes an invalid cell. */
export function cells(bytes: Uint8Array): Cell[] {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const found: Cell[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = sequenceLength(bytes[at] ?? 0);
    const text = decode(decoder, bytes.subarray(at, at + length), length);
    if (text === null) found.push({ text: `\\x${hex(bytes[at] ?? 0)}`, at, length: 1, invalid: true });
    else found.push({ text: visible(text), at, length, invalid: false });
    at += text === null ? 1 : length;
  }
  return found;
}

/** Split cells into lines of at most `width` characters. */
export function wrappedLines(all: readonly Cell[], width: number): Line[] {
  const lines: Line[] = [];
  for (let start = 0; start < all.length; start += width) {
    const part = all.slice(start, start + width);
    lines.push({ at: part[0]?.at ?? 0, indent: 0, cells: part });
  }
  return lines;
}

/** Split cells after JSON punctuation; no character is added, removed or moved. */
export function prettyLines(all: readonly Cell[], width: number): Line[] {
  const lines: Line[] = [];
  let line: Cell[] = [];
  let depth = 0;
  let indent = 0;
  let quoted = false;
  let escaped = false;
  const flush = () => {
    if (line.length > 0) lines.push({ at: line[0]?.at ?? 0, indent, cells: line });
    line = [];
    indent = depth;
  };
  for (const cell of all) {
    const char = cell.text;
    if (!quoted && (char === "}" || char === "]")) {
      depth = Math.max(0, depth - 1);
      flush();
    }
    line.push(cell);
    if (quoted) {
      quoted = escaped || char !== '"';
      escaped = !escaped && char === "\\";
    } else if (char === '"') quoted = true;
    else if (char === "{" || char === "[") {
      depth += 1;
      flush();
    } else if (char === ",") flush();
    if (line.length >= width) flush();
  }
  flush();
  return lines;
}

/** Return the start of the text that led to an error: after the last comma or bracket before it. */
export function nearStart(bytes: Uint8Array, error: number): number {
  for (let at = Math.min(error, bytes.length) - 1; at >= 0 && at > error - 80; at -= 1) {
    if (',{["'.includes(String.fromCharCode(bytes[at] ?? 0)) && at < error - 1) {
      return bytes[at] === 0x22 ? at : at + 1;
    }
  }
  return Math.max(0, error - 1);
}

/** Return rows of sixteen bytes for a hex view. */
export function hexRows(bytes: Uint8Array, from: number, rows: number, width = 16): { at: number; bytes: number[] }[] {
  const first = from - (from % width);
  const out = [];
  for (let at = first; at < bytes.length && out.length < rows; at += width)
    out.push({ at, bytes: [...bytes.subarray(at, at + width)] });
  return out;
}

export function hex(byte: number, width = 2): string {
  return byte.toString(16).padStart(width, "0");
}

export function ascii(byte: number): string {
  return byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "·";
}

function sequenceLength(lead: number): number {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  return lead >= 0xf0 && lead < 0xf5 ? 4 : 1;
}

function decode(decoder: TextDecoder, part: Uint8Array, length: number): string | null {
  if (part.length < length) return null;
  try {
    return decoder.decode(part);
  } catch {
    return null;
  }
}

function visible(char: string): string {
  const names: Record<string, string> = { "\n": "⏎", "\r": "␍", "\t": "⇥", "\0": "␀", "": "␈" };
  const shown = names[char];
  if (shown !== undefined) return shown;
  return char < " " || char === "\u007f" ? `\\x${hex(char.charCodeAt(0))}` : char;
}
