import { RANGES, rangeWords, type Range } from "../lib/ranges";
import type { Span } from "../lib/span";
import { Button, Choice } from "./controls";

/** The offered ranges; none of them is chosen while a part of one is shown, which a button gives up. */
export function TimeRangeControl({ span, onWiden }: { span: Span; onWiden: (range?: Range) => void }) {
  return (
    <>
      {span.narrowed && (
        <Button small onClick={() => onWiden()} title="Esc">
          Back to {rangeWords(span.range)}
        </Button>
      )}
      <Choice label="Time" value={span.narrowed ? null : span.range} options={RANGES} onChange={onWiden} />
    </>
  );
}
