import { Link } from "react-router";
import type { Connector, NearTask } from "../../api/types";
import { noRiskWords } from "../../lib/budget";
import { connectorPage, connectorsAt, taskLabel } from "../../lib/connectors";
import { budgetRisk } from "../../lib/states";
import { Glyph, Panel } from "../../ui/Panel";
import { BudgetCell } from "./BudgetCell";
import styles from "./Connectors.module.css";

/** Which task must be looked at first. */
export function Nearest({ tasks, connectors }: { tasks: NearTask[]; connectors: Connector[] }) {
  const trace = (one: NearTask) =>
    connectorsAt(connectors, one.connector, one.cluster)[0]?.tasks.find((task) => task.id === one.task)?.trace;
  const risks = connectors
    .filter((connector) => connector.has_figures)
    .flatMap((connector) => connector.tasks.map((task) => task.budget.risk));
  return (
    <Panel
      label="Nearest to failing"
      title="Nearest to failing"
      aside={<span className="s t3">by errors left before a tolerance limit</span>}
    >
      {tasks.length === 0 && <div className={`s t3 ${styles.none}`}>{noRiskWords(risks)}</div>}
      <ul className={styles.near}>
        {tasks.map((one) => {
          const { label, glyph, tone } = budgetRisk(one.risk);
          const key = { cluster: one.cluster, name: one.connector };
          const name = taskLabel(key, one.task);
          return (
            <li key={name} data-testid="near" data-risk={one.risk}>
              <Glyph tone={tone} large>
                {glyph}
              </Glyph>
              <Link to={connectorPage(key)} className={`mono cut ${styles.task}`}>
                {name}
              </Link>
              <span className={`s ${styles.risk} ${tone === "plain" ? "t2" : tone}`}>{label}</span>
              {one.risk === "failed" ? <Why trace={trace(one)} /> : <BudgetCell budget={one} />}
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}

/** The line of a trace that says what was wrong. */
function Why({ trace }: { trace: string | null | undefined }) {
  const line =
    trace?.split("\n").find((one) => one.trim() !== "" && !one.startsWith("Traceback")) ?? "No trace was reported.";
  return (
    <span className={`t2 cut ${styles.why}`} title={line}>
      {line}
    </span>
  );
}
