import { useMemo } from "react";
import { changedRanges } from "../../lib/difference";
import { WrappingText } from "../../ui/WrappingText";
import styles from "./BulkFix.module.css";

const AROUND = 60;

interface Piece {
  text: string;
  marked: boolean;
}

/** Two texts beside each other; what differs is marked, and long runs that don't are shortened. */
export default function SideBySide({ name, before, after }: { name: string; before: string; after: string }) {
  const [old, next] = useMemo(() => {
    const ranges = changedRanges(before, after);
    return [
      pieces(
        before,
        ranges.map((one) => [one.fromA, one.toA]),
      ),
      pieces(
        after,
        ranges.map((one) => [one.fromB, one.toB]),
      ),
    ];
  }, [before, after]);
  return (
    <div className={styles.sides}>
      <pre aria-label={`${name} before`}>
        {old.map((piece, index) =>
          piece.marked ? (
            <del key={index}>
              <WrappingText text={piece.text} />
            </del>
          ) : (
            <WrappingText key={index} text={piece.text} />
          ),
        )}
      </pre>
      <pre aria-label={`${name} after`}>
        {next.map((piece, index) =>
          piece.marked ? (
            <ins key={index}>
              <WrappingText text={piece.text} />
            </ins>
          ) : (
            <WrappingText key={index} text={piece.text} />
          ),
        )}
      </pre>
    </div>
  );
}

function pieces(text: string, marks: readonly (readonly [number, number])[]): Piece[] {
  const found: Piece[] = [];
  let at = 0;
  marks.forEach(([from, to], index) => {
    found.push({ text: shortened(text.slice(at, from), index === 0, false), marked: false });
    if (to > from) found.push({ text: text.slice(from, to), marked: true });
    at = to;
  });
  found.push({ text: shortened(text.slice(at), marks.length === 0, true), marked: false });
  return found;
}

function shortened(text: string, first: boolean, last: boolean): string {
  const [head, tail] = [first ? 0 : AROUND, last ? 0 : AROUND];
  if (first && last) return text;
  return text.length <= head + tail + 20 ? text : `${text.slice(0, head)} … ${tail === 0 ? "" : text.slice(-tail)}`;
}
