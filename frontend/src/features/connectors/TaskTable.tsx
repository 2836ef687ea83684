import { Fragment } from "react";
import type { Connector, Task } from "../../api/types";
import { budgetUsed, budgetWords, budgetsOf } from "../../lib/budget";
import { ago, count } from "../../lib/format";
import { useNow } from "../../lib/zone";
import { Meter } from "../../ui/Panel";
import { RestartTask } from "./ConnectorActions";
import styles from "./Connectors.module.css";
import { StateChip } from "./StateChip";

const COLUMNS: [string, string][] = [
  ["records-consumed", "Consumed"],
  ["records-delivered", "Delivered"],
  ["deadletterqueue-records-produced", "Dead letters"],
  ["total-record-failures", "Failures"],
  ["total-retries", "Retries"],
];

export function TaskTable({ connector, reachable }: { connector: Connector; reachable: boolean }) {
  if (connector.tasks.length === 0) return <div className="s t3" style={{ padding: "10px 16px" }}>No tasks at present.</div>;
  return (
    <div className={styles.scroll}>
      <table className={styles.tasks}>
        <thead>
          <tr>
            <th>Task</th>
            <th>State</th>
            {COLUMNS.map(([metric, label]) => <th key={metric} className="num">{label}</th>)}
            <th className="num">Lag</th>
            <th>Error budget</th>
            <th>Last failure</th>
            <th />
          </tr>
        </thead>
        <tbody>
          {connector.tasks.map((task) => (
            <Fragment key={task.id}>
              <Row connector={connector} task={task} reachable={reachable} />
              {task.trace && <tr><td colSpan={11} style={{ padding: 0, whiteSpace: "normal" }}><pre className={styles.trace}>{task.trace}</pre></td></tr>}
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ connector, task, reachable }: { connector: Connector; task: Task; reachable: boolean }) {
  const now = useNow(10_000);
  const budgets = budgetsOf([task]);
  const used = budgetUsed(budgets);
  const last = task.metrics["last-failure-timestamp"] ?? 0;
  return (
    <tr>
      <td className="mono">{connector.name}-{task.id}</td>
      <td><span className="row"><StateChip state={task.state} />{task.parked_until && <span className="s warn">in back-off</span>}</span></td>
      {COLUMNS.map(([metric]) => <td key={metric} className="num">{count(task.metrics[metric] ?? 0)}</td>)}
      <td className="num">{count(task.lag)}</td>
      <td className="s"><span className={styles.budget}>{used > 0 && <Meter part={used} colour="var(--warn)" height={5} />}<span className={used > 0 ? "" : "t3"}>{budgetWords(budgets)}</span></span></td>
      <td className={last > 0 ? "t2" : "t3"}>{last > 0 ? ago(new Date(last).toISOString(), now) : "never"}</td>
      <td className="num"><RestartTask name={connector.name} task={task.id} reachable={reachable} /></td>
    </tr>
  );
}
