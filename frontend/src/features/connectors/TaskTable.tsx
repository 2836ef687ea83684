import { Fragment, type ReactNode } from "react";
import type { Connector, Task } from "../../api/types";
import { isQuery } from "../../lib/connectors";
import { ago, count, span, timeOfDay } from "../../lib/format";
import { useNow, useZone } from "../../lib/zone";
import { BudgetCell } from "./BudgetCell";
import { RestartTask } from "./ConnectorActions";
import styles from "./Connectors.module.css";
import { rateWords } from "./MetricTable";
import { StateChip } from "./StateChip";

const COLUMNS: [string, string][] = [
  ["records-consumed", "Consumed"],
  ["records-delivered", "Delivered"],
  ["deadletterqueue-records-produced", "Dead letters"],
  ["total-record-failures", "Failures"],
  ["total-retries", "Retries"],
];
const DROPPED = "dropped-records-total";

export function TaskTable({ connector, reachable }: { connector: Connector; reachable: boolean }) {
  if (connector.tasks.length === 0)
    return (
      <div className="s t3" style={{ padding: "10px 16px" }}>
        No tasks at present.
      </div>
    );
  if (!connector.has_figures) return <PlainTaskTable connector={connector} reachable={reachable} />;
  const drops = connector.kind === "stream" || (connector.metrics[DROPPED] ?? 0) > 0;
  const width = COLUMNS.length + (drops ? 7 : 6);
  return (
    <div className={styles.scroll} role="group" tabIndex={0} aria-label="Task figures">
      <table className={styles.tasks} aria-label="Tasks">
        <thead>
          <tr>
            <th>{isQuery(connector) ? "Query" : "Task"}</th>
            <th>State</th>
            <th>Error budget</th>
            {COLUMNS.map(([metric, label]) => (
              <th key={metric} className="num">
                {label}
              </th>
            ))}
            {drops && <th className="num">Dropped</th>}
            <th className="num">Lag</th>
            <th>Last failure</th>
            <th />
          </tr>
        </thead>
        <tbody>
          {connector.tasks.map((task) => (
            <Fragment key={task.id}>
              <Row connector={connector} task={task} reachable={reachable} drops={drops} />
              <Waiting task={task} width={width} />
              {task.trace && (
                <Wide width={width}>
                  <pre className={styles.trace}>{task.trace}</pre>
                </Wide>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The tasks of a cluster that reports no figures of them: their states and workers. */
function PlainTaskTable({ connector, reachable }: { connector: Connector; reachable: boolean }) {
  return (
    <div className={styles.scroll} role="group" tabIndex={0} aria-label="Tasks and workers">
      <table className={styles.tasks} aria-label="Tasks">
        <thead>
          <tr>
            <th>Task</th>
            <th>State</th>
            <th>Worker</th>
            <th />
          </tr>
        </thead>
        <tbody>
          {connector.tasks.map((task) => (
            <Fragment key={task.id}>
              <tr>
                <td className="mono">
                  {connector.name}-{task.id}
                </td>
                <td className={styles.state}>
                  <StateChip state={task.state} />
                </td>
                <td data-label="Worker" className="mono t2">
                  {task.worker_id || "–"}
                </td>
                <td className="num">
                  <RestartTask connector={connector} task={task.id} reachable={reachable} />
                </td>
              </tr>
              {task.trace && (
                <Wide width={4}>
                  <pre className={styles.trace}>{task.trace}</pre>
                </Wide>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({
  connector,
  task,
  reachable,
  drops,
}: {
  connector: Connector;
  task: Task;
  reachable: boolean;
  drops: boolean;
}) {
  const now = useNow(10_000);
  const last = task.metrics["last-failure-timestamp"] ?? 0;
  return (
    <tr>
      <td className="mono">{isQuery(connector) ? connector.name : `${connector.name}-${task.id}`}</td>
      <td className={styles.state}>
        <StateChip state={task.state} />
      </td>
      <td data-label="Error budget" className={`s ${styles.wide}`}>
        <BudgetCell budget={task.budget} />
      </td>
      {COLUMNS.map(([metric, label]) => (
        <td key={metric} data-label={label} className="num">
          {count(task.metrics[metric] ?? 0)}
        </td>
      ))}
      {drops && (
        <td data-label="Dropped" className="num" title={`${rateWords(task.dropped_rate)} over the last report`}>
          {count(task.metrics[DROPPED] ?? 0)}
        </td>
      )}
      <td data-label="Lag" className="num">
        {count(task.lag)}
      </td>
      <td data-label="Last failure" className={last > 0 ? "t2" : "t3"}>
        {last > 0 ? ago(new Date(last).toISOString(), now) : "never"}
      </td>
      <td className="num">
        {!isQuery(connector) && <RestartTask connector={connector} task={task.id} reachable={reachable} />}
      </td>
    </tr>
  );
}

/** A row of its own below a task's figures. */
function Wide({ width, children }: { width: number; children: ReactNode }) {
  return (
    <tr className={styles.under}>
      <td colSpan={width}>{children}</td>
    </tr>
  );
}

/** Why a task waits and how long, or which operation it repeats without success. */
function Waiting({ task, width }: { task: Task; width: number }) {
  const { zone } = useZone();
  const now = useNow(1_000);
  const { parked_until: until, parked_reason: reason } = task;
  const left = until ? Date.parse(until) - now : 0;
  if (left <= 0 && !reason) return null;
  return (
    <Wide width={width}>
      <div className={styles.parked}>
        {until && left > 0 ? (
          <>
            <b>… Parked until {timeOfDay(until, zone)}</b> <span>(in {span(left)}), then it is tried again.</span>
          </>
        ) : (
          <b>{task.state === "UNASSIGNED" ? "… Waiting" : "… No progress; trying again"}</b>
        )}
        {reason && <span className={styles.reason}>{reason}</span>}
      </div>
    </Wide>
  );
}
