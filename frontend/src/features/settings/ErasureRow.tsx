import { receiptUrl, type Erasure } from "../../api/erasures";
import { count, dateMinute, plural } from "../../lib/format";
import { useZone } from "../../lib/zone";
import { Chip, Meter } from "../../ui/Panel";
import styles from "./Erase.module.css";

const STATES: Record<Erasure["state"], { label: string; tone: "plain" | "passed" | "failed" }> = {
  running: { label: "erasing", tone: "plain" },
  done: { label: "done", tone: "passed" },
  failed: { label: "failed", tone: "failed" },
};

/** One erasure: who, when and why, its progress, and its receipt. */
export function ErasureRow({ erasure }: { erasure: Erasure }) {
  const { zone } = useZone();
  const { label, tone } = STATES[erasure.state];
  return (
    <li data-testid="erasure">
      <div className={styles.head}>
        <b>{erasure.name}</b>
        <Chip tone={tone}>{label}</Chip>
        <span>
          {plural(erasure.count, "record")}, {erasure.title}
        </span>
        <span className="t3">
          by {erasure.by}, {dateMinute(erasure.created_at, zone)}
        </span>
        {erasure.state === "running" ? (
          <span className="t3">{count(erasure.done)} done</span>
        ) : (
          <a href={receiptUrl(erasure)} download>
            Download receipt
          </a>
        )}
      </div>
      <span className="t2">{erasure.reason}</span>
      {erasure.state === "running" && (
        <span className={styles.progress} role="status">
          <Meter part={erasure.count ? erasure.done / erasure.count : 0} colour="var(--put-1)" />
        </span>
      )}
      {erasure.trouble && <span className="warn">{erasure.trouble}</span>}
      {erasure.future && <span className="t3">Future records with this key are indexed without content.</span>}
      <ErasedDetails erasure={erasure} />
    </li>
  );
}

function ErasedDetails({ erasure }: { erasure: Erasure }) {
  if (erasure.erased.length === 0 && erasure.kept.length === 0) return null;
  return (
    <details className={styles.details}>
      <summary>What was erased, and what was not</summary>
      <ul>
        {erasure.erased.map(({ kind, label, count: number }) => (
          <li key={kind}>
            {label}: {count(number)}
          </li>
        ))}
        {erasure.kept.map(({ kind, label, why, ids }) => (
          <li key={kind}>
            Not changed: {label} {ids.slice(0, 20).join(", ")}
            {ids.length > 20 && " and more, see the receipt"}. {why}
          </li>
        ))}
      </ul>
    </details>
  );
}
