import { Link } from "react-router";
import { useCommon } from "../../api/groups";
import type { Common as CommonAnswer, GroupDetail } from "../../api/types";
import { count, percent } from "../../lib/format";
import { inSpan, type Span } from "../../lib/span";
import { stageColour } from "../../lib/stages";
import { clauseOfTrait } from "../../lib/trait";
import { SkeletonRows, Meter } from "../../ui/Panel";
import styles from "./Groups.module.css";

/** The values that are markedly more frequent in this group than in all others. */
export function Common({ group, span }: { group: GroupDetail; span: Span }) {
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
            <span className="t2">{trait.field}</span> <Value trait={trait} group={group.id} span={span} />
          </div>
          <div className={styles.share}>
            <Meter part={trait.here / data.here} colour={stageColour(group.stage)} />
            <span className="num">{share(trait.here, data.here)}</span>
            <span className="t3">here</span>
            <Meter part={data.elsewhere ? trait.elsewhere / data.elsewhere : 0} colour="var(--waiting)" />
            <span className="num">{share(trait.elsewhere, data.elsewhere)}</span>
            <span className="t3">elsewhere</span>
          </div>
        </div>
      ))}
      {data?.withheld && (
        <p className="s t3">
          Keys, values and headers are not compared: content withheld. It needs the right payload reader.
        </p>
      )}
      {data && <p className="s t3">{foot(data.traits.length, data.here, data.elsewhere, data.partial)}</p>}
    </div>
  );
}

/** The value, leading to the group's records that have it where a query can say so. */
function Value({ trait, group, span }: { trait: CommonAnswer["traits"][number]; group: number; span: Span }) {
  const clause = clauseOfTrait(trait.field, trait.value);
  if (clause === null) return <span className="mono b">{trait.value}</span>;
  const query = new URLSearchParams({ q: `group:${group} ${clause}` });
  return (
    <Link className="mono b" to={inSpan(`/records?${query}`, span)} title={`Records of this group with ${clause}`}>
      {trait.value}
    </Link>
  );
}

/** In whole per cent; "100 %" is said of all and "0 %" of none only. */
function share(part: number, whole: number): string {
  if (part > 0 && part * 200 < whole) return "< 1 %";
  return part < whole && part * 200 > whole * 199 ? "> 99 %" : percent(part, whole, 0);
}

function foot(traits: number, here: number, elsewhere: number, partial: boolean): string {
  const of = `the newest ${count(here)} records here`;
  const found =
    elsewhere > 0 ? `Of ${of} and ${count(elsewhere)} of other groups` : `Of ${of}; nothing else failed in this time`;
  return `${traits === 0 ? "Nothing stands out. " : ""}${found}${partial ? ", as far as 1.5 s reached" : ""}.`;
}
