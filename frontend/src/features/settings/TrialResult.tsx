import type { Permission, Trial } from "../../api/clusters";
import { plural, took } from "../../lib/format";
import { Copy } from "../../ui/Copy";
import { Glyph, join } from "../../ui/Panel";
import styles from "./Clusters.module.css";

const VERDICTS = {
  ok: { glyph: "✓", tone: "passed", says: "ok" },
  missing: { glyph: "✕", tone: "failed", says: "missing" },
  not_checked: { glyph: "?", tone: "waiting", says: "not checked" },
} as const;

/** How the trial went in plain words, and what is allowed there. */
export function TrialResult({ trial, asking }: { trial: Trial; asking: boolean }) {
  const missing = trial.permissions.filter((one) => one.verdict === "missing").length;
  return (
    <div
      className={join(styles.trial, asking && styles.stale)}
      role="status"
      aria-busy={asking}
      data-testid="trial"
      data-kind={trial.kind}
    >
      <div className={styles.verdict}>
        <Glyph tone={trial.reached ? "passed" : "failed"} large>
          {trial.reached ? "✓" : "✕"}
        </Glyph>
        <div>
          <b>{trial.verdict}</b> {trial.took_ms > 0 && <span className="s t3">{took(trial.took_ms)}</span>}
          {trial.detail && <div className={styles.detail}>{trial.detail}</div>}
          {trial.brokers.length > 0 && (
            <div className="s t2 mono">{trial.brokers.map(({ id, address }) => `${id}: ${address}`).join(", ")}</div>
          )}
        </div>
      </div>
      <h3 className={styles.subhead}>
        Permissions needed{" "}
        <span className="s t3">
          {!trial.reached
            ? "could not be asked"
            : missing > 0
              ? `${plural(missing, "row")} with something missing`
              : "nothing known to be missing"}
          , as {trial.principal}
        </span>
      </h3>
      <div className={styles.scroll} role="group" tabIndex={0} aria-label="Permissions">
        <table className={styles.table}>
          <thead>
            <tr>
              <th>Verdict</th>
              <th>Operation</th>
              <th>Resource</th>
              <th>What for</th>
            </tr>
          </thead>
          <tbody>
            {trial.permissions.map((row, index) => (
              <Row key={index} row={row} />
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function Row({ row }: { row: Permission }) {
  const { glyph, tone, says } = VERDICTS[row.verdict];
  return (
    <>
      <tr data-verdict={row.verdict}>
        <td className="nw">
          <span className="row" style={{ gap: 6 }}>
            <Glyph tone={tone}>{glyph}</Glyph>
            <span className={row.verdict === "missing" ? "failed b" : "t2"}>{says}</span>
          </span>
        </td>
        <td className="nw">
          {row.operations.map((one, index) => (
            <span key={one}>
              {index > 0 && ", "}
              <span className={join(row.missing.includes(one) && "failed b")}>{one}</span>
            </span>
          ))}
        </td>
        <td className="mono">{nameOf(row)}</td>
        <td className="t2">
          {row.why}
          {row.note && <span className="t3">; {row.note}</span>}
        </td>
      </tr>
      {row.verdict !== "ok" && (
        <tr className={styles.under}>
          <td />
          <td colSpan={3}>
            {row.verdict === "missing" ? (
              <Copy label="the line that grants it" text={row.command} />
            ) : (
              <details>
                <summary className="s t3">the line that grants it</summary>
                <Copy label="the line that grants it" text={row.command} />
              </details>
            )}
          </td>
        </tr>
      )}
    </>
  );
}

function nameOf({ resource, name, prefixed }: Permission): string {
  if (resource === "cluster") return "cluster";
  return `${resource.replace("-", " ")} ${name === "*" ? "any" : name}${prefixed ? "…" : ""}`;
}
