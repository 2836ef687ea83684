import type { GroupDetail } from "../../api/types";
import { count, percent } from "../../lib/format";
import { stageColour } from "../../lib/stages";
import { Meter } from "../../ui/Panel";
import styles from "./Groups.module.css";

export function Shared({ group }: { group: GroupDetail }) {
  return (
    <div>
      <h3>What they share</h3>
      {group.shared.length === 0 && <p className="s t3">Nothing beyond the failure itself.</p>}
      {group.shared.map((field) => {
        const total = field.values.reduce((sum, one) => sum + one.count, 0);
        return (
          <div key={field.field} style={{ marginBottom: 5 }}>
            <div className="xs t3">{field.field}</div>
            {field.values.slice(0, 6).map((one, index) => (
              <div key={index} className={`s ${styles.share}`}>
                <span className="mono cut" title={String(one.value ?? "none")}>{one.value ?? "none"}</span>
                <Meter part={total ? one.count / total : 0} colour={stageColour(group.stage)} />
                <span className="num">{count(one.count)}</span>
                <span className="num t3">{percent(one.count, total, 0)}</span>
              </div>
            ))}
          </div>
        );
      })}
    </div>
  );
}
