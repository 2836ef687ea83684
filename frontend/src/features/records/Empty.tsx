import { useClusters } from "../../api/clusters";
import { useDeadLetterTotal, useNewest } from "../../api/deadLetters";
import type { DeadLetterPage } from "../../api/types";
import { askFilter, type Filter } from "../../lib/filter";
import { count } from "../../lib/format";
import { boundsWords } from "../../lib/ranges";
import { totalWords, type Total } from "../../lib/total";
import { useZone } from "../../lib/zone";
import { Button } from "../../ui/controls";
import { Glyph, Notice } from "../../ui/Panel";
import { LastOne } from "../setup/LastOne";
import { NeverSetUp } from "../setup/NeverSetUp";
import { isPartial, lookedInto } from "./pages";

const EVERY_MS = 10_000;
const MONTH = { from: "now-30d", to: "now" };

interface Props {
  filter: Filter;
  pages: readonly DeadLetterPage[];
  onChange: (filter: Filter) => void;
  /** Goes on where the reading ended, where it did. */
  onOlder: (() => void) | undefined;
}

/** What stands in place of rows when none was found: why, and what to try. */
export function Empty({ filter, pages, onChange, onOlder }: Props) {
  const { zone } = useZone();
  const active = filter.clauses.filter((clause) => !clause.off);
  const { data: all } = useDeadLetterTotal(askFilter({ ...filter, clauses: [] }), EVERY_MS, active.length > 0);
  const partial = isPartial(pages);
  const nothing = !partial && (active.length === 0 || (all?.exact === true && all.count === 0));
  const { data: newest } = useNewest(nothing);
  const { data: clusters } = useClusters(nothing && newest === null);
  if (nothing) {
    const longest = filter.from === MONTH.from && filter.to === MONTH.to;
    if (newest === null && clusters) return <NeverSetUp clusters={clusters} />;
    return (
      <Notice
        title={
          <>
            <Glyph tone="passed">✓</Glyph> No failures {boundsWords(filter, zone)}.
          </>
        }
        actions={
          !longest &&
          newest !== null && <Button onClick={() => onChange({ ...filter, ...MONTH })}>Look at the last 30 d</Button>
        }
      >
        {newest && <LastOne row={newest} />}
      </Notice>
    );
  }
  return (
    <Notice
      title={partial ? "Nothing found before it stopped at 2 s" : found(pages, onOlder !== undefined, all)}
      actions={
        <>
          {onOlder && (
            <Button kind="primary" onClick={onOlder}>
              Search older records
            </Button>
          )}
          {active.map((clause, index) => (
            <Button
              key={index}
              onClick={() => onChange({ ...filter, clauses: filter.clauses.filter((one) => one !== clause) })}
            >
              Without {clause.text.slice(0, 40)}
            </Button>
          ))}
        </>
      }
    >
      {partial
        ? "Unsearched records may also match. Choose a shorter time range."
        : "Remove a filter, or choose a longer time range."}
    </Notice>
  );
}

function found(pages: readonly DeadLetterPage[], more: boolean, all: Total | undefined): string {
  if (more) return `None of the ${count(lookedInto(pages))} records looked into matches`;
  return all && all.count > 0 ? `0 of ${totalWords(all)} match` : "None match";
}
