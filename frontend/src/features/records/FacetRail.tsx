import type { Facets } from "../../api/types";
import { toggle, type Field, type Filter } from "../../lib/filter";
import { count } from "../../lib/format";
import { Bones, join } from "../../ui/Panel";
import styles from "./Records.module.css";

const RAIL: { field: Field; title: string; mono: boolean }[] = [
  { field: "stage", title: "Stage", mono: true },
  { field: "exception", title: "Exception", mono: true },
  { field: "group", title: "Group", mono: false },
  { field: "connector", title: "Connector", mono: false },
  { field: "topic", title: "Topic", mono: true },
  { field: "replay_state", title: "Replay state", mono: false },
  { field: "origin_partition", title: "Origin partition", mono: true },
];

/** What the matching records are made of; a click includes a value, an Alt-click excludes it. */
export function FacetRail({ facets, error, filter, onChange }: { facets: Facets | undefined; error: Error | null; filter: Filter; onChange: (filter: Filter) => void }) {
  if (!facets) return error ? <p className="s t3">The facets did not come: {error.message}</p> : <Bones rows={12} height={16} />;
  return (
    <>
      {!facets.exact && facets.of !== null && <p className="xs warn">of the newest {count(facets.of)} matching</p>}
      {RAIL.map(({ field, title, mono }) => {
        const values = facets.facets[field] ?? [];
        if (values.length === 0) return null;
        const total = values.reduce((sum, one) => sum + one.count, 0);
        return (
          <div key={field} className={styles.facet}>
            <h3>{title}</h3>
            {values.slice(0, 12).map((one) => {
              const value = String(one.value ?? "");
              const clause = filter.clauses.find((each) => each.field === field && each.value === value && !each.off);
              return (
                <button
                  key={value}
                  type="button"
                  className={join(styles.value, clause && (clause.exclude ? styles.banned : styles.picked))}
                  title={`${one.label}: click to include, Alt-click to exclude`}
                  aria-pressed={clause !== undefined}
                  onClick={(event) => value && onChange(toggle(filter, field, value, event.altKey))}
                >
                  <i style={{ width: `${total ? (100 * one.count) / total : 0}%` }} />
                  <span className={join("cut", mono && styles.mono)}>{one.label || "none"}</span>
                  <span>{count(one.count)}</span>
                </button>
              );
            })}
          </div>
        );
      })}
      <div className="xs t3" style={{ padding: "4px 6px" }}>Click to include, Alt-click to exclude</div>
    </>
  );
}
