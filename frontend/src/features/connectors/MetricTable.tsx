import type { Connector } from "../../api/types";
import { isQuery } from "../../lib/connectors";
import { ago, count } from "../../lib/format";
import { useNow } from "../../lib/zone";
import styles from "./Connectors.module.css";

const LAST_FAILURE = "last-failure-timestamp";
const RATE = "dropped-records-rate";

/** Every metric of KIP-298 and KIP-1033, task by task. */
export function MetricTable({ connector }: { connector: Connector }) {
  const now = useNow(10_000);
  const { tasks, metrics } = connector;
  const shown = (metric: string, value: number | undefined) =>
    metric === LAST_FAILURE ? (value ? ago(new Date(value).toISOString(), now) : "never") : count(value);
  if (Object.keys(metrics).length === 0) return <div className="s t3">No task has reported yet.</div>;
  return (
    <div className={styles.scroll} role="group" tabIndex={0} aria-label="Figures">
      <table className={styles.metrics} aria-label="Metrics by task">
        <thead>
          <tr>
            <th>Metric</th>
            {tasks.map((task) => (
              <th key={task.id} className="num">
                {isQuery(connector) ? "query" : `task ${task.id}`}
              </th>
            ))}
            {tasks.length > 1 && <th className="num">together</th>}
          </tr>
        </thead>
        <tbody>
          {Object.keys(metrics).map((metric) => (
            <tr key={metric}>
              <td>{metric}</td>
              {tasks.map((task) => (
                <td key={task.id} className="num">
                  {shown(metric, task.metrics[metric])}
                </td>
              ))}
              {tasks.length > 1 && <td className="num b">{shown(metric, metrics[metric])}</td>}
            </tr>
          ))}
          {tasks.some((task) => task.dropped_rate !== null) && (
            <tr>
              <td>{RATE}</td>
              {tasks.map((task) => (
                <td key={task.id} className="num">
                  {rateWords(task.dropped_rate)}
                </td>
              ))}
              {tasks.length > 1 && (
                <td className="num b">{rateWords(tasks.reduce((sum, task) => sum + (task.dropped_rate ?? 0), 0))}</td>
              )}
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

/** 0.4 → "0.4/s"; not told is a dash. */
export function rateWords(rate: number | null): string {
  return rate === null ? "–" : `${rate === 0 ? "0" : rate < 0.1 ? rate.toPrecision(1) : rate.toFixed(1)}/s`;
}
