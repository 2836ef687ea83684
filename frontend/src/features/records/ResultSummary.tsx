import type { DeadLetterPage } from "../../api/types";
import type { Filter } from "../../lib/filter";
import { ago, count, plural, took } from "../../lib/format";
import { shorterRanges } from "../../lib/ranges";
import { isUncounted, totalWords, type Total } from "../../lib/total";
import { useNow } from "../../lib/zone";
import { LinkButton } from "../../ui/controls";
import { isPartial, searchedCount } from "./pages";

interface Props {
  shown: number;
  first: DeadLetterPage;
  pages: readonly DeadLetterPage[];
  /** Whether the facet counts are exact; undefined while they are loading. */
  exactFacets: boolean | undefined;
  filter: Filter;
  onChange: (filter: Filter) => void;
}

/** A line about the search result: size, completeness, duration and age. */
export function ResultSummary({ shown, first, pages, exactFacets, filter, onChange }: Props) {
  const now = useNow(5_000);
  const searched = searchedCount(pages);
  const partial = isPartial(pages);
  // A total that a partial answer gives may count only what was found in time.
  const total = partial ? { ...first.total, exact: false } : first.total;
  const quality = exactnessOf(total, exactFacets);
  return (
    <>
      <b style={{ color: "var(--text)" }} data-testid="shown">
        Showing {count(shown)}
        {isUncounted(total) ? ", total not counted" : ` of ${totalWords(total)}`}
      </b>
      {quality && (
        <>
          <span className="t3">·</span>
          {quality}
        </>
      )}
      <span className="t3">·</span>took {took(first.took_ms)}
      <span className="t3">·</span>ran {ago(first.ran_at, now)}
      {searched !== null && (
        <>
          <span className="t3">·</span>searched {count(searched)} records
          {pages.at(-1)?.next ? ", older ones not yet" : ""}
        </>
      )}
      {first.text_behind ? (
        <span className="warn b">
          <span className="t3">·</span> text of the newest {plural(first.text_behind, "record")} is not searched yet
        </span>
      ) : null}
      {partial && (
        <span className="warn b">
          Stopped at 2 s: this answer is partial, narrow the time
          {shorterRanges(filter).map(({ span, from, to }) => (
            <span key={span}>
              {" "}
              ·{" "}
              <LinkButton onClick={() => onChange({ ...filter, from, to })}>
                {to === "now" ? "last" : "its last"} {span}
              </LinkButton>
            </span>
          ))}
        </span>
      )}
    </>
  );
}

/** Return whether the total and the facets are exact, without a total or facets that are missing. */
function exactnessOf(total: Total, exactFacets: boolean | undefined): string {
  const both = total.exact === exactFacets;
  if (both) return total.exact ? "facets and total exact" : "total and facets bounded";
  const ofTotal = total.exact ? "total exact" : isUncounted(total) ? "" : "total bounded";
  const ofFacets = exactFacets === undefined ? "" : exactFacets ? "facets exact" : "facets of the newest";
  return [ofTotal, ofFacets].filter(Boolean).join(", ");
}
