import type { Nearness } from "../../api/types";
import { budgetLines, handlerLines, paceWords } from "../../lib/budget";
import { Meter, join } from "../../ui/Panel";
import styles from "./Connectors.module.css";

/** What a task may still do wrong, limit by limit; where a handler decides instead; and until when, if errors go on as they do. */
export function BudgetCell({ budget }: { budget: Nearness }) {
  const pace = paceWords(budget.empty_in_ms);
  return (
    <span className={styles.budget}>
      {budgetLines(budget).map((line) => (
        <span key={line.label} className={styles.limit}>
          {line.label && <span className="xs t3">{line.label}</span>}
          {line.used > 0 && <Meter part={line.used} colour={line.empty ? "var(--failed)" : "var(--warn)"} height={5} />}
          <span className={join(line.empty ? "failed b" : line.used > 0 ? false : "t3")}>{line.words}</span>
        </span>
      ))}
      {handlerLines(budget.handlers).map(({ title, words }) => (
        <span key={title} className="xs t3" title={title}>
          {words}
        </span>
      ))}
      {pace && <span className={join("xs", budget.risk === "near" ? "warn" : "t3")}>{pace}</span>}
    </span>
  );
}
