import { diff, presentableDiff } from "@codemirror/merge";
import { byteOffset } from "./editing";
import { readingLines } from "./reading";

export interface Piece {
  text: string;
  marked: boolean;
}

export interface Row {
  kind: "same" | "gone" | "new";
  depth: number;
  pieces: Piece[];
}

export interface Difference {
  rows: Row[];
  /** Places where lines differ. */
  places: number;
  /** How many bytes of the original are kept. */
  kept: number;
}

const CAREFUL = { scanLimit: 2_000, timeout: 250 };
const FIRST_CODE = 0x100;
const CODES = 0xd000;

/** Two texts line by line as they are read, with the characters that differ marked. */
export function difference(original: string, edited: string): Difference {
  const [before, after] = [shown(original), shown(edited)];
  const rows: Row[] = [];
  let places = 0;
  let at = 0;
  const keep = (to: number) => {
    for (; at < to; at += 1) {
      const line = before[at];
      if (line) rows.push({ kind: "same", depth: line.depth, pieces: [{ text: line.text, marked: false }] });
    }
  };
  for (const change of lineChanges(before, after)) {
    keep(change.fromA);
    const hunk = changed(before.slice(change.fromA, change.toA), after.slice(change.fromB, change.toB));
    rows.push(...hunk.rows);
    places += hunk.places;
    at = change.toA;
  }
  keep(before.length);
  return { rows, places, kept: rows.reduce((sum, row) => sum + keptIn(row), 0) };
}

function keptIn(row: Row): number {
  if (row.kind === "new") return 0;
  return row.pieces.reduce((sum, piece) => sum + (piece.marked ? 0 : byteOffset(piece.text, piece.text.length)), 0);
}

/** Where the characters differ, made readable: whole words rather than letters. */
export function changedRanges(original: string, edited: string) {
  return original === edited ? [] : presentableDiff(original, edited, CAREFUL);
}

interface Shown {
  text: string;
  depth: number;
}

function shown(text: string): Shown[] {
  if (text === "") return [];
  return readingLines(text).filter((line) => line.to > line.from).map((line) => ({ text: text.slice(line.from, line.to), depth: line.depth }));
}

/** Each different line becomes one character, so that whole lines are compared. */
function lineChanges(before: readonly Shown[], after: readonly Shown[]) {
  const codes = new Map<string, number>();
  const coded = (lines: readonly Shown[]) =>
    lines.map(({ text }) => {
      const code = codes.get(text) ?? FIRST_CODE + (codes.size % CODES);
      codes.set(text, code);
      return String.fromCharCode(code);
    }).join("");
  return diff(coded(before), coded(after), CAREFUL);
}

function changed(gone: readonly Shown[], fresh: readonly Shown[]): { rows: Row[]; places: number } {
  const paired = gone.length === fresh.length;
  const pairs = paired ? gone.map((line, index) => [[line], [fresh[index]!]] as const) : [[gone, fresh] as const];
  const rows: Row[] = [];
  for (const [old, next] of pairs) {
    const [a, b] = [joined(old), joined(next)];
    const ranges = presentableDiff(a, b, CAREFUL);
    rows.push(...cut("gone", old, ranges.map((range) => [range.fromA, range.toA])), ...cut("new", next, ranges.map((range) => [range.fromB, range.toB])));
  }
  return { rows, places: pairs.length };
}

function joined(lines: readonly Shown[]): string {
  return lines.map((line) => line.text).join("");
}

function cut(kind: "gone" | "new", lines: readonly Shown[], ranges: readonly (readonly [number, number])[]): Row[] {
  let start = 0;
  return lines.map(({ text, depth }) => {
    const pieces: Piece[] = [];
    let at = 0;
    for (const [from, to] of ranges) {
      const [first, last] = [Math.max(0, from - start), Math.min(text.length, to - start)];
      if (last <= first) continue;
      if (first > at) pieces.push({ text: text.slice(at, first), marked: false });
      pieces.push({ text: text.slice(first, last), marked: true });
      at = last;
    }
    if (at < text.length) pieces.push({ text: text.slice(at), marked: false });
    start += text.length;
    return { kind, depth, pieces };
  });
}
