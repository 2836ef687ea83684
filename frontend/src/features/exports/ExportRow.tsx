import { fileUrl, isUnfinished, manifestUrl, useMayNotExport, type Export } from "../../api/exports";
import { useMayAct } from "../../api/session";
import { ago, bytes, count, dateMinute, percent } from "../../lib/format";
import { exportName, shortDigest } from "../../lib/naming";
import { exportState } from "../../lib/states";
import { useNow, useZone } from "../../lib/zone";
import { Button, LinkButton } from "../../ui/controls";
import { Chip, Meter } from "../../ui/Panel";
import styles from "./Exports.module.css";
import { filterSummary } from "./filterSummary";

/** One export in the table, with its state, downloads and actions. */
export function ExportRow({ job, onEnd }: { job: Export; onEnd: () => void }) {
  const { zone } = useZone();
  const now = useNow(10_000);
  return (
    <tr data-testid="export">
      <td className={styles.title}>
        <span className="b">{exportName(job.id)}</span> <span className={styles.format}>{job.format}</span>
        <span className="s t3 cut" style={{ display: "block" }} title={job.query}>
          {job.withheld ? "Content withheld. It needs the right payload reader." : filterSummary(job.query)}
        </span>
      </td>
      <td className={styles.state}>
        <ExportState job={job} />
      </td>
      <td className={`num ${styles.records}`}>
        {count(job.rows)}
        {isUnfinished(job) && job.expected !== null && <span className="t3"> of {count(job.expected)}</span>}
      </td>
      <td className={`num nw ${styles.size}`}>{bytes(job.size)}</td>
      <td className={`s t2 ${styles.optional}`}>{job.created_by ?? "–"}</td>
      <td className={`s nw ${styles.requested}`} title={dateMinute(job.created_at, zone)}>
        {ago(job.created_at, now)}
      </td>
      <td>
        <ExportActions job={job} onEnd={onEnd} />
      </td>
    </tr>
  );
}

function ExportState({ job }: { job: Export }) {
  const { zone } = useZone();
  const { label, glyph, tone } = exportState(job.state);
  const part = job.expected ? job.rows / job.expected : 0;
  return (
    <>
      <Chip tone={tone}>
        {glyph && <span aria-hidden="true">{glyph}</span>}
        {label}
        {job.state === "running" && job.expected ? ` ${percent(job.rows, job.expected, 0)}` : ""}
      </Chip>
      {job.state === "running" && part > 0 && (
        <div className={styles.progress}>
          <Meter part={part} colour="var(--accent)" />
        </div>
      )}
      {job.trouble && (
        <span className="s failed" style={{ display: "block" }}>
          {job.trouble}
        </span>
      )}
      {job.state === "done" && (
        <span className="s t3" style={{ display: "block" }}>
          until {dateMinute(job.expires_at, zone)}
          {job.sha256 && (
            <>
              , SHA-256{" "}
              <span className="mono" title={job.sha256}>
                {shortDigest(job.sha256)}
              </span>
            </>
          )}
        </span>
      )}
    </>
  );
}

function ExportActions({ job, onEnd }: { job: Export; onEnd: () => void }) {
  const may = useMayAct();
  const barred = useMayNotExport();
  const end = isUnfinished(job) ? "Cancel" : job.state === "done" && "Delete";
  return (
    <div className={styles.actions}>
      {job.state === "done" &&
        (barred ? (
          <Button small barred={barred}>
            Download
          </Button>
        ) : (
          <a href={fileUrl(job)} download className="b">
            Download
          </a>
        ))}
      {job.sha256 && !barred && (
        <a href={manifestUrl(job)} download={`${exportName(job.id)}-manifest.json`}>
          Manifest
        </a>
      )}
      {end &&
        (may.allowed ? (
          <LinkButton onClick={onEnd}>{end}</LinkButton>
        ) : (
          <Button small barred={may.reason}>
            {end}
          </Button>
        ))}
    </div>
  );
}
