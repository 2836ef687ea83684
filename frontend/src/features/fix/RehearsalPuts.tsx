import type { Rehearsed, RehearsedPut, RehearsedStage } from "../../api/rehearsals";
import { count } from "../../lib/format";
import { shortClass } from "../../lib/stages";
import { Glyph, join } from "../../ui/Panel";
import { capital, isPut, look, STATES, total } from "./rehearsed";
import styles from "./Rehearsal.module.css";

const CAUTION =
  "A rollback does not take back numbers of sequences, or what a trigger did outside of the database. " +
  "Triggers ran and locks were held meanwhile.";

/** The sentences about the sink: its put was rolled back, or why it was not rehearsed. */
export function RehearsalPuts({ results }: { results: Rehearsed[] }) {
  const puts = new Map<string, RehearsedPut>();
  const hindered = new Map<string, number>();
  for (const { put, stages } of results) {
    if (put) puts.set(put.connector, put);
    const last = stages.at(-1);
    if (last && isPut(last) && last.state === "not_rehearsable" && last.note)
      hindered.set(last.note, (hindered.get(last.note) ?? 0) + 1);
  }
  if (puts.size === 0 && hindered.size === 0) return null;
  return (
    <ul className={styles.puts} aria-label="Sink">
      {[...puts.values()].map(({ connector, text }) => (
        <li key={connector}>
          <Glyph tone="passed">✓</Glyph>
          <p>
            <b>Sink rolled back.</b> {text} <span className="t3">{CAUTION}</span>
          </p>
        </li>
      ))}
      {[...hindered].map(([note, records]) => (
        <li key={note}>
          <Glyph tone="unknown">?</Glyph>
          <p>
            <b>Sink not rehearsed{results.length > 1 ? ` for ${count(records)} of ${count(results.length)}` : ""}.</b>{" "}
            {capital(note)}.
          </p>
        </li>
      ))}
    </ul>
  );
}

/** The stages of several records, each with the number of records that passed and failed in it. */
export function RehearsalTotals({ results }: { results: Rehearsed[] }) {
  const pipelines = new Map<string, Rehearsed[]>();
  for (const one of results) {
    if (one.stages.length === 0) continue;
    const key = JSON.stringify([one.connector, one.stages.map((stage) => [stage.type, stage.class, stage.name])]);
    pipelines.set(key, [...(pipelines.get(key) ?? []), one]);
  }
  return [...pipelines].map(([key, some]) => (
    <ol key={key} className={styles.pipe} aria-label={`Stages of ${some[0]!.connector}`}>
      {some[0]!.stages.map((stage, index) => (
        <Total key={index} index={index} stage={stage} results={some} />
      ))}
    </ol>
  ));
}

function Total({ index, stage, results }: { index: number; stage: RehearsedStage; results: Rehearsed[] }) {
  const { state, rolledBack, text } = total(results, index);
  const { glyph, tone } = STATES[state];
  return (
    <li className={join(styles.stage, styles[look(state, rolledBack)])}>
      <span className="row" style={{ gap: 3 }}>
        <span className={join(styles.type, "cut")}>
          {index} {stage.type}
        </span>
        <span className="sp" />
        {glyph ? <Glyph tone={tone}>{glyph}</Glyph> : <span className={styles.blank} />}
      </span>
      <span className="b cut">{stage.name || shortClass(stage.class)}</span>
      <span className={join("s t3", styles.note)}>{text}</span>
    </li>
  );
}
