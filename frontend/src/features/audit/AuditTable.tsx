import { Link } from "react-router";
import type { AuditEntry } from "../../api/audit";
import { dateTime } from "../../lib/format";
import type { Tone } from "../../lib/states";
import { useZone } from "../../lib/zone";
import { Avatar, Chip, join } from "../../ui/Panel";
import tables from "../../ui/tables.module.css";
import styles from "./Audit.module.css";

const OUTCOME_TONES: Record<AuditEntry["outcome"], Tone> = {
  done: "plain",
  failed: "failed",
  refused: "warn",
  unknown: "unknown",
};

/** Audit entries as rows; each row can show the rest of its entry. */
export function AuditTable({ entries }: { entries: readonly AuditEntry[] }) {
  return (
    <table className={join(tables.table, tables.cards, styles.entries)}>
      <thead>
        <tr>
          <th>Time</th>
          <th>Actor</th>
          <th>Action</th>
          <th>Object</th>
          <th>Reason</th>
        </tr>
      </thead>
      <tbody>
        {entries.map((entry) => (
          <AuditRow key={entry.id} entry={entry} />
        ))}
      </tbody>
    </table>
  );
}

function AuditRow({ entry }: { entry: AuditEntry }) {
  const { zone } = useZone();
  return (
    <tr data-testid="audit-entry">
      <td className={join("mono", "nw", styles.time)}>{dateTime(entry.at, zone)}</td>
      <td className={styles.actor}>
        <span className="row s">
          <Avatar name={entry.actor || "?"} />
          <span className="cut">{entry.actor || "nobody"}</span>
        </span>
      </td>
      <td className={styles.sentence}>
        {entry.outcome !== "done" && <Chip tone={OUTCOME_TONES[entry.outcome]}>{entry.outcome}</Chip>} {entry.sentence}
        <details className={styles.details}>
          <summary aria-label={`Details of ${entry.sentence}`}>Details</summary>
          <EntryDetails entry={entry} />
        </details>
      </td>
      <td className={styles.object}>
        {entry.href ? <Link to={entry.href}>{entry.object}</Link> : <span className="t2">{entry.object}</span>}
      </td>
      <td className={styles.reason}>{entry.reason}</td>
    </tr>
  );
}

function EntryDetails({ entry }: { entry: AuditEntry }) {
  const rows: [string, string][] = [
    ["Action", entry.action],
    ["Address", entry.address ?? "none"],
    ["Seal", entry.seq === null ? "not sealed yet" : `entry ${entry.seq}, ${entry.seal}`],
    ...Object.entries(entry.detail).map(([name, value]): [string, string] => [name, valueText(value)]),
  ];
  return (
    <dl className={styles.facts}>
      {rows.map(([name, value], index) => (
        <div key={index}>
          <dt>{name}</dt>
          <dd className="mono">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function valueText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
