import { Link } from "react-router";
import { useCommon } from "../../api/groups";
import type { Common, GroupDetail } from "../../api/types";
import { count, percent } from "../../lib/format";
import { inSpan, type Span } from "../../lib/span";
import { stageColour } from "../../lib/stages";
import { clauseOfTrait } from "../../lib/trait";
import { SkeletonRows, Meter } from "../../ui/Panel";
import styles from "./Groups.module.css";

/** The values that are much more frequent in this group than in all others. */
export function CommonValues({ group, span }: { group: GroupDetail; span: Span }) {
  const { data, error } = useCommon(group.id, span);
  return (
    <div>
      <h3>Common values</h3>
      {error && (
        <p className="s failed" role="alert">
          {error.message}
        </p>
      )}
      {!data && !error && <SkeletonRows rows={4} height={14} />}
      {data?.traits.map((trait) => (
        <div key={trait.field} className={styles.trait} data-testid="trait">
          <div className="cut" title={`${trait.field}: ${trait.value}`}>
            <span className="t2">{trait.field}</span> <TraitValue trait={trait} group={group.id} span={span} />
          </div>
          <div className={styles.shares}>
            <Meter part={trait.here / data.here} colour={stageColour(group.stage)} />
            <span className="num">{percentLabel(trait.here, data.here)}</span>
            <span className="t3">here</span>
            <Meter part={data.elsewhere ? trait.elsewhere / data.elsewhere : 0} colour="var(--waiting)" />
            <span className="num">{percentLabel(trait.elsewhere, data.elsewhere)}</span>
            <span className="t3">elsewhere</span>
          </div>
        </div>
      ))}
      {data?.withheld && (
        <p className="s t3">
          Keys, values and headers are not compared: content withheld. It needs the right payload reader.
        </p>
      )}
      {data && <p className="s t3">{comparisonNote(data.traits.length, data.here, data.elsewhere, data.partial)}</p>}
    </div>
  );
}

/** A value, linked to the group's records with that value if the query language can express it. */
function TraitValue({ trait, group, span }: { trait: Common["traits"][number]; group: number; span: Span }) {
  const clause = clauseOfTrait(trait.field, trait.value);
  if (clause === null) return <span className="mono b">{trait.value}</span>;
  const query = new URLSearchParams({ q: `group:${group} ${clause}` });
  return (
    <Link className="mono b" to={inSpan(`/records?${query}`, span)} title={`Records of this group with ${clause}`}>
      {trait.value}
    </Link>
  );
}

/** Format a share in whole per cent. Only all records are "100 %" and only none are "0 %". */
function percentLabel(part: number, whole: number): string {
  if (part > 0 && part * 200 < whole) return "< 1 %";
  return part < whole && part * 200 > whole * 199 ? "> 99 %" : percent(part, whole, 0);
}

/** Describe the records that were compared. The server stops the comparison after 1.5 s. */
function comparisonNote(traits: number, here: number, elsewhere: number, partial: boolean): string {
  const newest = here === 1 ? "the newest record of this group" : `the newest ${count(here)} records of this group`;
  return [
    traits === 0 ? "No value stands out. " : "",
    elsewhere > 0
      ? `Compares ${newest} with ${count(elsewhere)} of other groups.`
      : `Based on ${newest}. Nothing else failed in this time.`,
    partial ? " The comparison stopped after 1.5 s." : "",
  ].join("");
}
