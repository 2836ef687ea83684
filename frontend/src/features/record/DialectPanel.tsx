import type { DeadLetter, ReadingNote } from "../../api/types";
import { plural } from "../../lib/format";
import { Chip, Panel, Strip } from "../../ui/Panel";
import styles from "./Record.module.css";

/** The facts of a dead letter with the header that each was read from. Guesses are marked. */
export function DialectPanel({ letter }: { letter: DeadLetter }) {
  const { title, version, notes, problems } = letter.dialect;
  if (notes.length === 0 && problems.length === 0) return null;
  const guesses = notes.filter((note) => note.guessed).length;
  return (
    <Panel
      className={styles.gap}
      title={
        <>
          <h2>How we read this</h2>
          <span className="s t3">
            {title}
            {version && `, ${/^\d/.test(version) ? `version ${version}` : version}`}
          </span>
        </>
      }
      aside={
        <span className="s t3">
          {plural(notes.length - guesses, "fact")} read{guesses > 0 && `, ${guesses} guessed`}
        </span>
      }
    >
      <div className={styles.reading}>
        {problems.map((problem, index) => (
          <Strip key={index} tone="warn">
            {problem}
          </Strip>
        ))}
        <dl className={styles.notes}>
          {notes.map((note, index) => (
            <Note key={index} note={note} />
          ))}
        </dl>
      </div>
    </Panel>
  );
}

function Note({ note }: { note: ReadingNote }) {
  const [, header, remark] = /^header ([^,]+)(?:, (.*))?$/.exec(note.read_from) ?? [];
  return (
    <div className={styles.readingNote}>
      <dt>{note.field}</dt>
      <dd className="t2">
        {note.guessed && <Chip title="No header states this">? guessed</Chip>}{" "}
        {header ? (
          <>
            <span className="mono">{header}</span> <span className="t3">{remark}</span>
          </>
        ) : (
          note.read_from
        )}
      </dd>
      <dd className="mono">{note.value}</dd>
    </div>
  );
}
