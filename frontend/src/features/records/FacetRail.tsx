import type { UseQueryResult } from "@tanstack/react-query";
import { useState } from "react";
import type { FacetValue, Facets } from "../../api/types";
import { FIELDS } from "../../lib/fields";
import { clauseState, toggle, type Field, type Filter } from "../../lib/filter";
import { count } from "../../lib/format";
import { replayStateWords } from "../../lib/states";
import { LinkButton } from "../../ui/controls";
import { SkeletonRows, join } from "../../ui/Panel";
import { queryErrorOf } from "./queryError";
import styles from "./Records.module.css";

const SHOWN = 10;
// Numeric facets come last, because a number alone says little.
const FACET_FIELDS = FIELDS.filter((one) => one.facet !== undefined).sort(
  (one, other) => Number(one.kind === "number") - Number(other.kind === "number") || one.facet! - other.facet!,
);
const PROPORTIONAL_FIELDS: ReadonlySet<Field> = new Set<Field>(["group", "connector", "replay_state"]);

/** The counts of matching records by field. A click includes a value, an Alt-click excludes it. */
export function FacetRail({
  asked,
  filter,
  onChange,
}: {
  asked: UseQueryResult<Facets>;
  filter: Filter;
  onChange: (filter: Filter) => void;
}) {
  const { data: facets, error, isPlaceholderData: isStale, fetchStatus } = asked;
  if (queryErrorOf(error)) return null;
  if (!facets || isStale) {
    if (fetchStatus === "idle")
      return <p className="s t3">{error ? `The facets could not be loaded: ${error.message}` : "Not counted"}</p>;
    if (!facets) return <SkeletonRows rows={12} height={16} />;
  }
  return (
    <div className={join(isStale && styles.stale)} aria-busy={isStale}>
      {error && <p className="xs warn">Not refreshed: {error.message}</p>}
      {!facets.exact && facets.of !== null && (
        <p className="xs warn">
          of the newest {count(facets.of)} matching{facets.partial && "; stopped at 2 s"}
        </p>
      )}
      {FACET_FIELDS.map(({ name: field, label }) => {
        const values = facets.facets[field] ?? [];
        const isShown = values.length > (field === "cluster" && !filter.clauses.length ? 1 : 0);
        return (
          isShown && (
            <Facet
              key={field}
              field={field}
              title={label}
              mono={!PROPORTIONAL_FIELDS.has(field)}
              values={values}
              filter={filter}
              onChange={onChange}
            />
          )
        );
      })}
      <div className="xs t3" style={{ padding: "4px 6px" }}>
        Click to include, Alt-click to exclude
      </div>
    </div>
  );
}

function labelOf(field: Field, { value, label }: FacetValue): string {
  return field === "replay_state" ? replayStateWords(String(value)) : label || "none";
}

function Facet({
  field,
  title,
  mono,
  values,
  filter,
  onChange,
}: {
  field: Field;
  title: string;
  mono: boolean;
  values: FacetValue[];
  filter: Filter;
  onChange: (filter: Filter) => void;
}) {
  const [all, setAll] = useState(false);
  const [part, setPart] = useState("");
  const total = values.reduce((sum, one) => sum + one.count, 0);
  const alike = values.filter((one) => labelOf(field, one).toLowerCase().includes(part.toLowerCase()));
  const more = values.length - SHOWN;
  return (
    <div className={styles.facet}>
      <h2>{title}</h2>
      {all && (
        <input
          className={styles.facetSearch}
          value={part}
          aria-label={`Find a value of ${title}`}
          placeholder="Find…"
          onChange={(event) => setPart(event.currentTarget.value)}
        />
      )}
      {(all ? alike : values.slice(0, SHOWN)).map((one) => {
        const value = String(one.value ?? "");
        const place = clauseState(filter, field, value);
        return (
          <button
            key={value}
            type="button"
            className={join(styles.value, place === "in" && styles.included, place === "out" && styles.excluded)}
            title={`${labelOf(field, one)}: click to include, Alt-click to exclude`}
            aria-pressed={place !== null}
            onClick={(event) => value && onChange(toggle(filter, field, value, event.altKey))}
          >
            <i style={{ width: `${total ? (100 * one.count) / total : 0}%` }} />
            <span className={join("cut", mono && styles.mono)}>{labelOf(field, one)}</span>
            <span>{count(one.count)}</span>
          </button>
        );
      })}
      {more > 0 && (
        <div className="xs" style={{ padding: "2px 6px" }}>
          <LinkButton onClick={() => (setAll(!all), setPart(""))}>{all ? "Fewer" : `${more} more…`}</LinkButton>
        </div>
      )}
    </div>
  );
}
