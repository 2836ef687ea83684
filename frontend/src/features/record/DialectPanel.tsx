import type { DeadLetter } from "../../api/types";
import { Facts, Panel, Strip } from "../../ui/Panel";
import styles from "./Record.module.css";

/** The dialect of a dead letter: the source of each field, and parsing problems. */
export function DialectPanel({ letter }: { letter: DeadLetter }) {
  const { name, version, notes, problems } = letter.dialect;
  if (notes.length === 0 && problems.length === 0) return null;
  return (
    <Panel
      className={styles.gap}
      title={
        <>
          <h2>How this dead letter was parsed</h2>
          <span className="s t3">
            {name}
            {version && `, version ${version}`}
          </span>
        </>
      }
    >
      <div className={styles.reading}>
        {problems.map((problem, index) => (
          <Strip key={index} tone="warn">
            {problem}
          </Strip>
        ))}
        <Facts
          rows={notes.map((note) => [
            note.field,
            <span key={note.field} className="mono t2">
              {note.read_from}
            </span>,
          ])}
        />
      </div>
    </Panel>
  );
}
