import { fileUrl, isUnfinished, manifestUrl, useMayNotExport, type Export } from "../../api/exports";
import { useMayWrite } from "../../api/session";
import { ago, bytes, count, dateMinute, percent } from "../../lib/format";
import { exportName, shortDigest } from "../../lib/naming";
import { exportState } from "../../lib/states";
import { useNow, useZone } from "../../lib/zone";
import { Button, LinkButton } from "../../ui/controls";
import { Chip, Meter } from "../../ui/Panel";
import styles from "./Exports.module.css";
import { wordsOf } from "./words";

export function ExportRow({ one, onEnd }: { one: Export; onEnd: () => void }) {
  const { zone } = useZone();
  const now = useNow(10_000);
  return (
    <tr data-testid="export">
      <td className={styles.title}>
        <span className="b">{exportName(one.id)}</span> <span className={styles.format}>{one.format}</span>
        <span className="s t3 cut" style={{ display: "block" }} title={one.query}>
          {one.withheld ? "Content withheld. It needs the right payload reader." : wordsOf(one.query)}
        </span>
      </td>
      <td className={styles.state}>
        <State one={one} />
      </td>
      <td className={`num ${styles.records}`}>
        {count(one.rows)}
        {isUnfinished(one) && one.expected !== null && <span className="t3"> of {count(one.expected)}</span>}
      </td>
      <td className={`num nw ${styles.size}`}>{bytes(one.size)}</td>
      <td className={`s t2 ${styles.optional}`}>{one.created_by ?? "–"}</td>
      <td className={`s nw ${styles.asked}`} title={dateMinute(one.created_at, zone)}>
        {ago(one.created_at, now)}
      </td>
      <td>
        <Actions one={one} onEnd={onEnd} />
      </td>
    </tr>
  );
}

function State({ one }: { one: Export }) {
  const { zone } = useZone();
  const { label, glyph, tone } = exportState(one.state);
  const part = one.expected ? one.rows / one.expected : 0;
  return (
    <>
      <Chip tone={tone}>
        {glyph && <span aria-hidden="true">{glyph}</span>}
        {label}
        {one.state === "running" && one.expected ? ` ${percent(one.rows, one.expected, 0)}` : ""}
      </Chip>
      {one.state === "running" && part > 0 && (
        <div className={styles.progress}>
          <Meter part={part} colour="var(--accent)" />
        </div>
      )}
      {one.trouble && (
        <span className="s failed" style={{ display: "block" }}>
          {one.trouble}
        </span>
      )}
      {one.state === "done" && (
        <span className="s t3" style={{ display: "block" }}>
          until {dateMinute(one.expires_at, zone)}
          {one.sha256 && (
            <>
              , SHA-256{" "}
              <span className="mono" title={one.sha256}>
                {shortDigest(one.sha256)}
              </span>
            </>
          )}
        </span>
      )}
    </>
  );
}

function Actions({ one, onEnd }: { one: Export; onEnd: () => void }) {
  const may = useMayWrite();
  const barred = useMayNotExport();
  const end = isUnfinished(one) ? "Cancel" : one.state === "done" && "Delete";
  return (
    <div className={styles.actions}>
      {one.state === "done" &&
        (barred ? (
          <Button small barred={barred}>
            Download
          </Button>
        ) : (
          <a href={fileUrl(one)} download className="b">
            Download
          </a>
        ))}
      {one.sha256 && !barred && (
        <a href={manifestUrl(one)} download={`${exportName(one.id)}-manifest.json`}>
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
