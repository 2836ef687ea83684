import { Link } from "react-router";
import type { Balance } from "../../api/types";
import { recordsWith } from "../../lib/filter";
import { count, percent } from "../../lib/format";
import { ALL_TIME } from "../../lib/ranges";
import { SkeletonRows, Notice, Panel } from "../../ui/Panel";
import styles from "./Overview.module.css";

/** Consumed = delivered + dead-lettered + skipped + filtered since the start, in words, figures and one bar. */
export function BalanceLine({ balance, error }: { balance: Balance | undefined; error: Error | null }) {
  if (!balance)
    return (
      <Panel label="Balance" className={styles.balance}>
        {error ? (
          <Notice title="The balance is not known">{error.message}</Notice>
        ) : (
          <SkeletonRows rows={1} height={36} />
        )}
      </Panel>
    );
  const { consumed, delivered, dead_lettered, skipped, filtered, balanced } = balance;
  const parts = [
    { name: "delivered", value: delivered, colour: "var(--passed)" },
    { name: "dead-lettered", value: dead_lettered, colour: "var(--failed)" },
    { name: "skipped", value: skipped, colour: "var(--warn)" },
    { name: "filtered", value: filtered, colour: "var(--waiting)" },
  ];
  return (
    <Panel className={styles.balance} label="Balance">
      <div>
        <div className={styles.sum} data-testid="balance">
          <b>{count(consumed)}</b> consumed <i>=</i> <b className="passed">{count(delivered)}</b> delivered <i>+</i>{" "}
          <Link to={recordsWith("connector", null, ALL_TIME)} className="failed">
            <b>{count(dead_lettered)}</b>
          </Link>{" "}
          dead-lettered <i>+</i> <b>{count(skipped)}</b> skipped <i>+</i> <b>{count(filtered)}</b> filtered
        </div>
        <div className={styles.bar} role="img" aria-label="The same figures as one bar">
          {parts
            .filter((part) => part.value > 0)
            .map((part) => (
              <span
                key={part.name}
                style={{ flexGrow: part.value, flexBasis: 0, background: part.colour }}
                title={`${count(part.value)} ${part.name}`}
              />
            ))}
        </div>
      </div>
      <div className={`s ${styles.verdict}`}>
        {consumed === 0 ? (
          <span className="t3">Nothing consumed yet.</span>
        ) : balanced ? (
          <b className="passed">Balances: every consumed record is accounted for.</b>
        ) : (
          <b className="warn">
            {count(consumed - delivered - dead_lettered - skipped - filtered)} not accounted for at this instant.
          </b>
        )}
        {consumed > 0 && (
          <div className="t3">{percent(dead_lettered + skipped, consumed)} of records failed; since the start</div>
        )}
      </div>
    </Panel>
  );
}
