import { Link } from "react-router";
import { useConnectors } from "../../api/connectors";
import { useBalance } from "../../api/metrics";
import type { RecordCounts, Connector } from "../../api/types";
import { budgetLines, handlerLines, worstTask } from "../../lib/budget";
import { connectorLabel, connectorPage, connectorsAt, deadLettersOf, reporterName } from "../../lib/connectors";
import { ago, count, percent, plural } from "../../lib/format";
import { useNow } from "../../lib/zone";
import { SkeletonRows, Meter, Notice, Panel, join } from "../../ui/Panel";
import styles from "./Overview.module.css";

export function TopicTable() {
  const { data: connectors, error } = useConnectors();
  const { data: balance } = useBalance();
  const now = useNow(10_000);
  const trouble = connectors?.clusters.find((cluster) => cluster.trouble)?.trouble;
  const figures = new Map(balance?.connectors.map((one) => [one.name, one]));
  return (
    <Panel
      className={styles.gap}
      label="Topics and connectors"
      title={
        <>
          <h2>Topics and connectors</h2>
          <span className="s t3">counts since the start</span>
        </>
      }
    >
      {!connectors &&
        (error ? <Notice title="The connectors are not known">{error.message}</Notice> : <SkeletonRows rows={3} />)}
      {connectors && connectors.results.length === 0 && (
        <Notice title={trouble ?? "No connectors"}>
          {trouble ? "Connectors appear when it answers again." : "Start one with python -m engine run."}
        </Notice>
      )}
      {connectors && connectors.results.length > 0 && (
        <div className={styles.scroll}>
          <table className={styles.table}>
            <thead>
              <tr>
                <th>Origin topic</th>
                <th>Connector</th>
                <th className="num">Consumed</th>
                <th className="num">Dead-lettered</th>
                <th className="num">Rate</th>
                <th>Error budget</th>
                <th className="num">Lag</th>
                <th>Last error</th>
              </tr>
            </thead>
            <tbody>
              {connectors.results.map((connector) => (
                <Row
                  key={connectorLabel(connector)}
                  connector={connector}
                  isNameShared={connectorsAt(connectors.results, connector.name).length > 1}
                  figures={connector.has_figures ? figures.get(reporterName(connector)) : undefined}
                  now={now}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

function Row({
  connector,
  isNameShared,
  figures,
  now,
}: {
  connector: Connector;
  isNameShared: boolean;
  figures: RecordCounts | undefined;
  now: number;
}) {
  const consumed = figures?.consumed ?? 0;
  const failed = figures?.dead_lettered ?? 0;
  return (
    <tr>
      <td className="mono">{connector.topics.join(", ") || "–"}</td>
      <td>
        <Link to={connectorPage(connector)}>{connectorLabel(connector)}</Link>{" "}
        <span className="t3 s">
          {connector.type}, {states(connector)}
        </span>
      </td>
      {connector.has_figures ? (
        <>
          <td className={consumed ? "num" : "num t3"}>{count(consumed)}</td>
          <td className="num">
            {failed ? (
              <Link to={deadLettersOf(connector, isNameShared)}>{count(failed)}</Link>
            ) : (
              <span className="t3">0</span>
            )}
          </td>
          <td className={consumed ? "num" : "num t3"}>{percent(failed, consumed)}</td>
          <td className="s">
            <Budget connector={connector} />
          </td>
          <td className="num">{count(connector.lag)}</td>
          <td className={connector.last_error_at ? "t2" : "t3"}>
            {connector.last_error_at ? ago(connector.last_error_at, now) : "none"}
          </td>
        </>
      ) : (
        <td colSpan={6} className="s t3">
          Its cluster reports no figures to the dashboard.
        </td>
      )}
    </tr>
  );
}

/** The error budget of the task that is nearest to failing. */
function Budget({ connector }: { connector: Connector }) {
  const task = worstTask(connector.tasks);
  if (!task) return <span className="t3">–</span>;
  const title = handlerLines(task.budget.handlers)
    .map(({ words }) => words)
    .join("\n");
  return (
    <span className={styles.budgets} title={title || undefined}>
      {budgetLines(task.budget).map((line) => (
        <span key={line.label} className={styles.budget}>
          {line.used > 0 && <Meter part={line.used} colour={line.empty ? "var(--failed)" : "var(--warn)"} height={5} />}
          <span className={join(line.empty ? "failed b" : line.used > 0 ? false : "t3")}>{line.words}</span>
          {line.label && <span className="xs t3">{line.label}</span>}
        </span>
      ))}
      {connector.tasks.length > 1 && (
        <span className="xs t3">
          task {task.id}, the nearest to failing of {connector.tasks.length}
        </span>
      )}
    </span>
  );
}

function states(connector: Connector): string {
  const counts = new Map<string, number>();
  for (const task of connector.tasks)
    counts.set(task.state.toLowerCase(), (counts.get(task.state.toLowerCase()) ?? 0) + 1);
  if (counts.size === 0) return connector.state.toLowerCase();
  return [...counts].map(([state, number]) => `${plural(number, "task")} ${state}`).join(", ");
}
