import { useState } from "react";
import type { DeadLetter, ExceptionView, Frame } from "../../api/types";
import { LinkButton } from "../../ui/controls";
import { Notice, Panel } from "../../ui/Panel";
import styles from "./Record.module.css";

export function ErrorPanel({ letter }: { letter: DeadLetter }) {
  const { exception, dialect } = letter;
  return (
    <Panel
      className={styles.gap}
      title={
        <>
          <h2>Error</h2>
          {letter.readable && <span className="s t3">tolerated: dead-lettered, the task went on</span>}
        </>
      }
      aside={
        <span className="s t3">
          How this dead letter was parsed: {dialect.name}
          {dialect.version && `, version ${dialect.version}`}
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
          <b>{exception.class}</b>: {exception.message}
        </div>
      ) : (
        <Notice title="This dead letter carries no exception" />
      )}
    </Panel>
  );
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
