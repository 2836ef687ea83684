import type { Permission, ConnectionTest } from "../../api/clusters";
import { plural, took } from "../../lib/format";
import { CopyField } from "../../ui/CopyField";
import { Glyph, join } from "../../ui/Panel";
import styles from "./Clusters.module.css";

const VERDICTS = {
  ok: { glyph: "✓", tone: "passed", says: "ok" },
  missing: { glyph: "✕", tone: "failed", says: "missing" },
  not_checked: { glyph: "?", tone: "waiting", says: "not checked" },
} as const;

/** The result of a connection test, with the Kafka permissions that the dashboard needs. */
export function ConnectionTestResult({ result, isStale }: { result: ConnectionTest; isStale: boolean }) {
  const missing = result.permissions.filter((one) => one.verdict === "missing").length;
  return (
    <div
      className={join(styles.result, isStale && styles.stale)}
      role="status"
      aria-busy={isStale}
      data-testid="trial"
      data-kind={result.kind}
    >
      <div className={styles.verdict}>
        <Glyph tone={result.reached ? "passed" : "failed"} large>
          {result.reached ? "✓" : "✕"}
        </Glyph>
        <div>
          <b>{result.verdict}</b> {result.took_ms > 0 && <span className="s t3">{took(result.took_ms)}</span>}
          {result.detail && <div className={styles.detail}>{result.detail}</div>}
          {result.brokers.length > 0 && (
            <div className="s t2 mono">{result.brokers.map(({ id, address }) => `${id}: ${address}`).join(", ")}</div>
          )}
        </div>
      </div>
      <h3 className={styles.subhead}>
        Permissions needed{" "}
        <span className="s t3">
          {!result.reached
            ? "could not be checked"
            : missing > 0
              ? `${plural(missing, "row")} with something missing`
              : "nothing known to be missing"}
          , as {result.principal}
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
            {result.permissions.map((row, index) => (
              <PermissionRow key={index} row={row} />
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function PermissionRow({ row }: { row: Permission }) {
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
        <tr className={styles.commandRow}>
          <td />
          <td colSpan={3}>
            {row.verdict === "missing" ? (
              <CopyField label="the command that grants it" text={row.command} />
            ) : (
              <details>
                <summary className="s t3">the command that grants it</summary>
                <CopyField label="the command that grants it" text={row.command} />
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
