import { diff, presentableDiff } from "@codemirror/merge";
import { byteOffset } from "./editing";
import { jsonError } from "./json";
import { breaks, readingLines } from "./reading";

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
  /** The unit of comparison: lines, or excerpts around changes if neither text has usable lines. */
  by: "line" | "place";
  /** The number of differences. */
  places: number;
  /** The number of unchanged bytes of the original. */
  kept: number;
}

interface TextRange {
  from: number;
  to: number;
  depth: number;
}

/** A range of the original and its replacement. */
interface Pair {
  gone: TextRange;
  fresh: TextRange;
}

interface Range {
  fromA: number;
  toA: number;
  fromB: number;
  toB: number;
}

const DIFF_LIMITS = { scanLimit: 2_000, timeout: 250 };
const FIRST_CODE = 0x100;
const CODE_COUNT = 0xd000;
const LONG_LINE = 2_000;
const CONTEXT_CHARACTERS = 48;

/**
 * Compare two texts and mark the characters that differ. If both are JSON or both are not, compare lines. If only one is JSON,
 * use its lines for both: after a lost quote the other's lines would begin inside strings. Otherwise return excerpts.
 */
export function difference(original: string, edited: string): Difference {
  const [was, is] = [jsonError(original) === null, jsonError(edited) === null];
  if (was !== is && shortLines(is ? edited : original)) {
    const ranges = changedRanges(original, edited);
    return paired("line", original, edited, ranges, linePairs(is ? "edited" : "original", original, edited, ranges));
  }
  const oneKind = was === is && (was || (breaks(original).length === 0 && breaks(edited).length === 0));
  if (oneKind && shortLines(original) && shortLines(edited)) return lineDifference(original, edited);
  const ranges = changedRanges(original, edited);
  return paired("place", original, edited, ranges, excerptPairs(original, edited, ranges));
}

/** Return the ranges that differ, extended to whole words. */
export function changedRanges(original: string, edited: string): readonly Range[] {
  return original === edited ? [] : presentableDiff(original, edited, DIFF_LIMITS);
}

/** Return the number of original bytes that this row keeps. */
export function keptIn(row: Row): number {
  if (row.kind === "new") return 0;
  return row.pieces.reduce((sum, piece) => sum + (piece.marked ? 0 : byteOffset(piece.text, piece.text.length)), 0);
}

function shortLines(text: string): boolean {
  return readingLines(text).every((line) => line.to - line.from <= LONG_LINE);
}

function made(by: "line" | "place", rows: Row[], places: number): Difference {
  return { rows, by, places, kept: rows.reduce((sum, row) => sum + keptIn(row), 0) };
}

function paired(
  by: "line" | "place",
  original: string,
  edited: string,
  ranges: readonly Range[],
  pairs: readonly Pair[],
): Difference {
  const [goneMarks, freshMarks] = [
    ranges.map((one) => [one.fromA, one.toA] as const),
    ranges.map((one) => [one.fromB, one.toB] as const),
  ];
  const rows: Row[] = [];
  let places = 0;
  for (const { gone, fresh } of pairs) {
    if (original.slice(gone.from, gone.to) === edited.slice(fresh.from, fresh.to)) {
      if (gone.to > gone.from) rows.push(row("same", original, gone, []));
      continue;
    }
    places += 1;
    if (gone.to > gone.from) rows.push(row("gone", original, gone, goneMarks));
    if (fresh.to > fresh.from) rows.push(row("new", edited, fresh, freshMarks));
  }
  return made(by, rows, places);
}

/** Pair each line of one side with its replacement on the other side. */
function linePairs(side: "original" | "edited", original: string, edited: string, ranges: readonly Range[]): Pair[] {
  const [text, end] = side === "original" ? [original, edited.length] : [edited, original.length];
  const changes = ranges.map(({ fromA, toA, fromB, toB }) =>
    side === "original" ? { from: fromA, to: toA, there: toB } : { from: fromB, to: toB, there: toA },
  );
  let next = 0;
  let there = 0;
  return readingLines(text).map(({ from, to, depth }) => {
    while (next < changes.length && changes[next]!.to <= to && changes[next]!.from < to) next += 1;
    const [past, inside] = [changes[next - 1], changes[next]];
    const across =
      to === text.length ? end : inside && inside.from < to ? inside.there : to + (past ? past.there - past.to : 0);
    const [mine, theirs] = [
      { from, to, depth },
      { from: there, to: across, depth },
    ];
    there = across;
    return side === "original" ? { gone: mine, fresh: theirs } : { gone: theirs, fresh: mine };
  });
}

/** Return the changes with their context, joined if they are close, and the ranges between them. */
function excerptPairs(original: string, edited: string, ranges: readonly Range[]): Pair[] {
  const places: Range[] = [];
  for (const range of ranges) {
    const last = places.at(-1);
    if (last && range.fromA - last.toA <= 3 * CONTEXT_CHARACTERS)
      Object.assign(last, { toA: range.toA, toB: range.toB });
    else places.push({ ...range });
  }
  const pairs: Pair[] = [];
  let [a, b] = [0, 0];
  const until = (toA: number, toB: number) => {
    pairs.push({ gone: { from: a, to: toA, depth: 0 }, fresh: { from: b, to: toB, depth: 0 } });
    [a, b] = [toA, toB];
  };
  for (const { fromA, toA, fromB, toB } of places) {
    const before =
      fromA - a <= 2 * CONTEXT_CHARACTERS
        ? fromA - a
        : distanceOnCharacter(original, fromA - CONTEXT_CHARACTERS, fromA);
    const after =
      original.length - toA <= 2 * CONTEXT_CHARACTERS
        ? original.length - toA
        : CONTEXT_CHARACTERS + distanceOnCharacter(original, toA + CONTEXT_CHARACTERS, toA + CONTEXT_CHARACTERS);
    until(fromA - before, fromB - before);
    until(toA + after, toB + after);
  }
  until(original.length, edited.length);
  return pairs;
}

/** Return the distance from `from` to `to`, plus one if `from` would split a surrogate pair. */
function distanceOnCharacter(text: string, from: number, to: number): number {
  return to - from + (/[\udc00-\udfff]/.test(text.charAt(from)) ? 1 : 0);
}

function lineDifference(original: string, edited: string): Difference {
  const [before, after] = [shown(original), shown(edited)];
  const rows: Row[] = [];
  let places = 0;
  let at = 0;
  const keep = (to: number) => {
    for (; at < to; at += 1) rows.push(row("same", original, before[at]!, []));
  };
  for (const { fromA, toA, fromB, toB } of lineChanges(original, before, edited, after)) {
    keep(fromA);
    const [gone, fresh] = [before.slice(fromA, toA), after.slice(fromB, toB)];
    const pairs =
      gone.length === fresh.length
        ? gone.map((line, index) => [[line], [fresh[index]!]] as const)
        : [[gone, fresh] as const];
    for (const [old, next] of pairs) rows.push(...changed(original, old, edited, next));
    places += pairs.length;
    at = toA;
  }
  keep(before.length);
  return made("line", rows, places);
}

function shown(text: string): TextRange[] {
  return readingLines(text).filter((line) => line.to > line.from);
}

/** Compare whole lines by mapping each distinct line to one character. */
function lineChanges(original: string, before: readonly TextRange[], edited: string, after: readonly TextRange[]) {
  const codes = new Map<string, number>();
  const coded = (source: string, lines: readonly TextRange[]) =>
    lines
      .map(({ from, to }) => {
        const text = source.slice(from, to);
        const code = codes.get(text) ?? FIRST_CODE + (codes.size % CODE_COUNT);
        codes.set(text, code);
        return String.fromCharCode(code);
      })
      .join("");
  return diff(coded(original, before), coded(edited, after), DIFF_LIMITS);
}

function changed(original: string, gone: readonly TextRange[], edited: string, fresh: readonly TextRange[]): Row[] {
  const [a, b] = [gone[0]?.from ?? 0, fresh[0]?.from ?? 0];
  const ranges = presentableDiff(
    original.slice(a, gone.at(-1)?.to ?? a),
    edited.slice(b, fresh.at(-1)?.to ?? b),
    DIFF_LIMITS,
  );
  const [goneMarks, freshMarks] = [
    ranges.map((one) => [a + one.fromA, a + one.toA] as const),
    ranges.map((one) => [b + one.fromB, b + one.toB] as const),
  ];
  return [
    ...gone.map((line) => row("gone", original, line, goneMarks)),
    ...fresh.map((line) => row("new", edited, line, freshMarks)),
  ];
}

function row(
  kind: Row["kind"],
  text: string,
  { from, to, depth }: TextRange,
  marks: readonly (readonly [number, number])[],
): Row {
  const pieces: Piece[] = [];
  let at = from;
  for (const [start, end] of marks) {
    const [first, last] = [Math.max(from, start), Math.min(to, end)];
    if (last <= first) continue;
    if (first > at) pieces.push({ text: text.slice(at, first), marked: false });
    pieces.push({ text: text.slice(first, last), marked: true });
    at = last;
  }
  if (at < to) pieces.push({ text: text.slice(at, to), marked: false });
  return { kind, depth, pieces };
}
