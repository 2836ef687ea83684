import type { DeadLetter } from "../../api/types";
import { Facts, Panel } from "../../ui/Panel";
import { WithheldNotice } from "../../ui/WithheldNotice";
import styles from "./Record.module.css";

/** The source partition, source offset and content of a source connector's record. */
export function SourcePanel({ letter }: { letter: DeadLetter }) {
  const { source } = letter;
  if (!source) return null;
  const rows = [
    ...source.partition.map(
      ({ name, value }) =>
        [
          name,
          <span key={name} className="mono">
            {value}
          </span>,
        ] as const,
    ),
    ...source.offset.map(
      ({ name, value }) =>
        [
          `at ${name}`,
          <span key={name} className="mono">
            {value}
          </span>,
        ] as const,
    ),
  ];
  return (
    <Panel
      className={styles.gap}
      title={
        <>
          <h2>Source record</h2>
          {source.schema && <span className="s t3">{source.schema}</span>}
        </>
      }
    >
      <div className={styles.reading}>
        <p className="s t2" style={{ marginBottom: 6 }}>
          This record did not come from Kafka, so it cannot be sent back there. Correct it in the source system, or fix
          it and run it through the remaining stages.
        </p>
        <Facts rows={rows.map(([name, value]) => [name, value])} />
      </div>
      {source.withheld && <WithheldNotice />}
      {source.value !== null && (
        <pre className={styles.trace} role="group" tabIndex={0} aria-label="Source record content">
          {source.value}
        </pre>
      )}
    </Panel>
  );
}
