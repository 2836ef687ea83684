import { RANGES, rangeWords, type Range } from "../lib/ranges";
import type { Span } from "../lib/span";
import { Button, Choice } from "./controls";

/** The time ranges as buttons. While a part of one is shown, none is active and a button goes back. */
export function TimeRangeControl({
  span,
  ranges = RANGES,
  onWiden,
}: {
  span: Span;
  ranges?: readonly { value: Range; label: string }[];
  onWiden: (range?: Range) => void;
}) {
  return (
    <>
      {span.narrowed && (
        <Button small onClick={() => onWiden()} title="Esc">
          Back to {rangeWords(span.range)}
        </Button>
      )}
      <Choice label="Time" value={span.narrowed ? null : span.range} options={ranges} onChange={onWiden} />
    </>
  );
}
