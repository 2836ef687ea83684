import { useClusters } from "../../api/clusters";
import { useDeadLetterTotal, useNewestDeadLetter } from "../../api/deadLetters";
import type { DeadLetterPage } from "../../api/types";
import { apiQuery, withQuery, type Filter } from "../../lib/filter";
import { count, plural } from "../../lib/format";
import { boundsWords } from "../../lib/ranges";
import { totalWords, type Total } from "../../lib/total";
import { useZone } from "../../lib/zone";
import { Button } from "../../ui/controls";
import { Glyph, Notice } from "../../ui/Panel";
import { NewestRecord } from "../setup/NewestRecord";
import { SetupSteps } from "../setup/SetupSteps";
import { isPartial, searchedCount } from "./pages";

const POLL_MS = 10_000;
const LAST_30_DAYS = { from: "now-30d", to: "now" };

interface Props {
  filter: Filter;
  pages: readonly DeadLetterPage[];
  onChange: (filter: Filter) => void;
  /** Continues a search that ended early; undefined if it was complete. */
  onOlder: (() => void) | undefined;
}

/** The text for an empty list: the reason, and buttons that widen the search. */
export function RecordsEmptyState({ filter, pages, onChange, onOlder }: Props) {
  const { zone } = useZone();
  const active = filter.clauses.filter((clause) => !clause.off);
  const { data: all } = useDeadLetterTotal(apiQuery({ ...filter, clauses: [] }), POLL_MS, active.length > 0);
  const partial = isPartial(pages);
  const hasNoRecords = !partial && (active.length === 0 || (all?.exact === true && all.count === 0));
  const { data: newest } = useNewestDeadLetter(hasNoRecords);
  const { data: clusters } = useClusters(hasNoRecords && newest === null);
  const wider = pages[0]?.alternative;
  const absent = pages[0]?.absent ?? [];
  const similar = absent.find((member) => member.similar !== null);
  if (hasNoRecords) {
    const longest = filter.from === LAST_30_DAYS.from && filter.to === LAST_30_DAYS.to;
    if (newest === null && clusters) return <SetupSteps clusters={clusters} />;
    return (
      <Notice
        title={
          <>
            <Glyph tone="passed">✓</Glyph> No failures {boundsWords(filter, zone)}.
          </>
        }
        actions={
          !longest &&
          newest !== null && (
            <Button onClick={() => onChange({ ...filter, ...LAST_30_DAYS })}>Look at the last 30 d</Button>
          )
        }
      >
        {newest && <NewestRecord row={newest} />}
      </Notice>
    );
  }
  return (
    <Notice
      title={
        partial
          ? "Nothing found before it stopped at 2 s"
          : absent.length > 0
            ? absentTitle(absent, searchedCount(pages) ?? 0)
            : emptyTitle(pages, onOlder !== undefined, all)
      }
      actions={
        <>
          {similar && (
            <Button kind="primary" onClick={() => onChange(withMember(filter, similar.name, similar.similar ?? ""))}>
              Search {similar.similar?.slice(0, 60)}
            </Button>
          )}
          {wider && (
            <Button kind="primary" onClick={() => onChange(withQuery(filter, wider.query, zone))}>
              Search {wider.query.slice(0, 60)} ({wider.exact ? "" : "at least "}
              {plural(wider.count, "record")})
            </Button>
          )}
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
        : similar
          ? `Did you mean ${similar.similar}?`
          : wider
            ? "A search for the beginning finds records."
            : "Remove a filter, or choose a longer time range."}
    </Notice>
  );
}

/** Replace the name of a member in the clauses that use it. */
function withMember(filter: Filter, name: string, other: string): Filter {
  const renamed = (text: string) => text.replaceAll(`${name}:`, `${other}:`);
  return { ...filter, clauses: filter.clauses.map((clause) => ({ ...clause, text: renamed(clause.text) })) };
}

function absentTitle(absent: DeadLetterPage["absent"], searched: number): string {
  return `None of the ${plural(searched, "searched record")} has ${absent.map(({ name }) => name).join(" or ")}`;
}

function emptyTitle(pages: readonly DeadLetterPage[], more: boolean, all: Total | undefined): string {
  if (more) return `None of the ${count(searchedCount(pages))} searched records matches`;
  return all && all.count > 0 ? `0 of ${totalWords(all)} match` : "None match";
}
