import { Link } from "react-router";
import type { Connector, StageCounts } from "../../api/types";
import { recordsOf } from "../../lib/filter";
import { ALL_TIME } from "../../lib/ranges";
import { count, plural } from "../../lib/format";
import { failedAt, shortClass, stageColour } from "../../lib/stages";
import { Meter } from "../../ui/Panel";
import styles from "./Connectors.module.css";

const MOST_TASKS = 6;

export function hasFailed(stage: StageCounts): boolean {
  return stage.failed > 0 || stage.dropped > 0;
}

/** Failures stage by stage, and by task: where a pipeline breaks. Stages that never failed are only counted. */
export function StageBars({ connector }: { connector: Connector }) {
  const { stages, tasks } = connector;
  const failing = stages.filter(hasFailed);
  const worst = Math.max(1, ...stages.map((stage) => stage.failed));
  const dropped = stages.some((stage) => stage.dropped > 0);
  const apart = tasks.length > 1 && tasks.length <= MOST_TASKS ? tasks : [];
  const quiet = stages.length - failing.length;
  return (
    <>
      <div className={styles.scroll} role="group" tabIndex={0} aria-label="Stages">
        <table className={styles.stages} aria-label="Failures by stage">
          <thead>
            <tr>
              <th className="num">#</th>
              <th>Stage</th>
              <th className={styles.bar}>Failures</th>
              <th />
              {apart.map((task) => (
                <th key={task.id} className={`num ${styles.apart}`}>
                  task {task.id}
                </th>
              ))}
              {dropped && <th className="num">Dropped</th>}
            </tr>
          </thead>
          <tbody>
            {failing.map((stage) => (
              <tr key={stage.index} data-testid="stage">
                <td className="num t3">{stage.index}</td>
                <td>
                  <span className="mono xs t3">{stage.type}</span> <span title={stage.class}>{stageName(stage)}</span>
                </td>
                <td className={styles.bar}>
                  <Meter part={stage.failed / worst} colour={stageColour(stage.type)} height={8} />
                </td>
                <td className="num b">
                  {connector.dlq_topic ? (
                    <Link to={recordsOf({ connector: connector.name, stage: stage.type }, ALL_TIME)}>
                      {count(stage.failed)}
                    </Link>
                  ) : (
                    count(stage.failed)
                  )}
                </td>
                {apart.map((task) => (
                  <td key={task.id} className={`num t2 ${styles.apart}`}>
                    {count(failedAt(stage, task.stages))}
                  </td>
                ))}
                {dropped && <td className="num warn">{count(stage.dropped)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {quiet > 0 && <div className="s t3">{plural(quiet, "other stage")} without failures.</div>}
    </>
  );
}

function stageName(stage: StageCounts): string {
  if (stage.name) return `${stage.name}, ${shortClass(stage.class)}`;
  return stage.type.startsWith("KAFKA_") ? stage.class : shortClass(stage.class);
}
