import type { Plan } from "../../api/replayTypes";
import { count } from "../../lib/format";
import styles from "./Plan.module.css";

/** Return the connector's state. The engine commits offsets without group members, so the group looks empty. */
function connectorState(target: Plan["targets"][number], group: string): string | undefined {
  const watched = target.watched.find((one) => one.group === group);
  if (watched) return `connector, ${watched.state.toLowerCase()}`;
  return target.also_read_by.some((name) => group === `connect-${name}`) ? "connector" : undefined;
}

/** The consumer groups of the target topics; `watched` groups decide the outcome. */
export function ConsumerGroupTable({ plan }: { plan: Plan }) {
  const several = plan.targets.length > 1;
  return (
    <div
      className={styles.groups}
      data-testid="groups"
      tabIndex={0}
      role="region"
      aria-label="Consumer groups on the target"
    >
      <table>
        <thead>
          <tr>
            <th scope="col">Consumer group</th>
            {several && <th scope="col">Topic</th>}
            <th scope="col">State</th>
            <th scope="col" className={styles.number}>
              Members
            </th>
            <th scope="col" className={styles.number}>
              Lag
            </th>
            <th scope="col">Outcome</th>
          </tr>
        </thead>
        <tbody>
          {plan.targets.flatMap((target) =>
            target.groups.map((group) => {
              const state = connectorState(target, group.name);
              return (
                <tr key={`${target.topic} ${group.name}`}>
                  <td className="mono">{group.name}</td>
                  {several && <td className="mono">{target.topic}</td>}
                  <td>{state ?? group.state}</td>
                  <td className={styles.number}>{state === undefined ? count(group.members) : "–"}</td>
                  <td className={styles.number}>{count(group.lag)}</td>
                  <td className={group.watched ? undefined : "t3"}>{group.watched ? "watched" : "not watched"}</td>
                </tr>
              );
            }),
          )}
        </tbody>
      </table>
    </div>
  );
}
