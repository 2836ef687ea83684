import { useState } from "react";
import { useDecoded, type DecodedField } from "../../api/decoded";
import { useRecordFields } from "../../api/fixes";
import type { RecordField } from "../../api/replayTypes";
import type { DeadLetter, ExceptionView, Frame } from "../../api/types";
import { fromBase64 } from "../../lib/bytes";
import { isDecodable } from "../../lib/decodable";
import { count } from "../../lib/format";
import { LinkButton } from "../../ui/controls";
import { Notice, Panel } from "../../ui/Panel";
import styles from "./Record.module.css";

export function ErrorPanel({ letter }: { letter: DeadLetter }) {
  const { exception, dialect } = letter;
  return (
    <Panel
      label="Error"
      title={
        <>
          <h2>Error</h2>
          {letter.connector && <span className="s t3">tolerated: dead-lettered, the task went on</span>}
        </>
      }
      aside={
        <span className="s t3">
          read as {dialect.title}
          {dialect.version && `, ${/^\d/.test(dialect.version) ? `version ${dialect.version}` : dialect.version}`}
        </span>
      }
    >
      {exception && exception.chain.length > 0 ? (
        <div className={styles.frames}>
          {exception.chain.map((cause, index) => (
            <ExceptionCause key={index} cause={cause} first={index === 0} />
          ))}
        </div>
      ) : exception?.class || exception?.message ? (
        <div className={styles.frames}>
          <b>{exception.class}</b>: {letter.erased ? "the message was erased" : exception.message}
        </div>
      ) : (
        <Notice title="This dead letter carries no exception" />
      )}
      <NamedFields letter={letter} />
    </Panel>
  );
}

const FAULTS: Record<RecordField["fault"], string> = {
  null: "must not be null",
  missing: "is missing",
  type: "has a wrong type",
};

/** The fields that the error names, with what the value has there. */
function NamedFields({ letter }: { letter: DeadLetter }) {
  const fields = useRecordFields(letter.id).data?.results ?? [];
  const bytes = letter.value.base64;
  const decoded = useDecoded(letter.id, "value", fields.length > 0 && isDecodable(letter, "value")).data;
  const rows = decoded?.format ? decoded.fields : null;
  if (fields.length === 0) return null;
  return (
    <div className={styles.named} data-testid="named-fields">
      {fields.map(({ name, fault, start, end }) => (
        <div key={name}>
          <span className="t3">Field </span>
          <b className="mono">{name}</b> {FAULTS[fault]}
          {start !== null && end !== null && bytes ? (
            <>
              : <code className={styles.near}>{textAt(bytes, start, end)}</code>{" "}
              <span className="t3">at byte {count(start)} of the value</span>
            </>
          ) : rows ? (
            <DecodedValueOf row={rows.find((row) => row.path === name || row.name === name)} />
          ) : (
            start === null && letter.value.json && <span className="t3">; the value has no such field</span>
          )}
        </div>
      ))}
    </div>
  );
}

/** The value of a named field in the decoded value. */
function DecodedValueOf({ row }: { row: DecodedField | undefined }) {
  if (!row) return <span className="t3">; the decoded value has no such field</span>;
  return (
    <>
      : <code className={styles.near}>{row.text.slice(0, MOST_SHOWN)}</code>
      {row.start !== null && <span className="t3"> at byte {count(row.start)} of the value</span>}
    </>
  );
}

const MOST_SHOWN = 200;

/** Return a part of the value as text, shortened if it is long. */
function textAt(base64: string, start: number, end: number): string {
  const part = fromBase64(base64).slice(start, Math.min(end, start + MOST_SHOWN));
  return new TextDecoder().decode(part) + (end - start > MOST_SHOWN ? "…" : "");
}

function ExceptionCause({ cause, first }: { cause: ExceptionView["chain"][number]; first: boolean }) {
  const [open, setOpen] = useState(false);
  const own = cause.frames.filter((frame) => frame.application);
  const shown = open ? cause.frames : own.slice(0, 4);
  const hidden = cause.frames.length - shown.length;
  return (
    <div className={first ? undefined : styles.cause}>
      {!first && <span className="t3">caused by </span>}
      <b>{cause.class}</b>
      {cause.message && `: ${cause.message}`}
      {shown.map((frame, index) => (
        <FrameLine key={index} frame={frame} />
      ))}
      {hidden > 0 && (
        <div style={{ font: "12px/19px var(--sans)" }}>
          <LinkButton onClick={() => setOpen(true)}>
            {hidden} {own.length > 0 ? "more" : "framework"} {hidden === 1 ? "frame" : "frames"}
          </LinkButton>
        </div>
      )}
    </div>
  );
}

function FrameLine({ frame }: { frame: Frame }) {
  return (
    <div className="t3">
      {frame.file} <span className="t2">{frame.function}</span>
      {frame.line !== null && ` line ${frame.line}`}
    </div>
  );
}
