import { useState } from "react";
import type { Rehearsed, RehearsedStage, Shown } from "../../api/rehearsals";
import { shortClass } from "../../lib/stages";
import { Glyph, join } from "../../ui/Panel";
import { capital, isPut, isRolledBack, look, STATES } from "./rehearsed";
import styles from "./Rehearsal.module.css";

/** The pipeline as it was rehearsed; the chosen stage tells what it made of the record, or why not. */
export function RehearsalStages({ result }: { result: Rehearsed }) {
  const [chosen, setChosen] = useState<number | null>(null);
  const { stages } = result;
  const shown = chosen ?? telling(stages);
  const stage = stages[shown];
  return (
    <>
      <div className={styles.pipe} role="group" aria-label="Rehearsed stages">
        {stages.map((one, index) => (
          <button
            key={index}
            type="button"
            aria-pressed={index === shown}
            className={join(styles.stage, styles[look(one.state, isRolledBack(one, result))])}
            data-state={one.state}
            onClick={() => setChosen(index)}
          >
            <span className="row" style={{ gap: 3 }}>
              <span className={join(styles.type, "cut")}>
                {index} {one.type}
              </span>
              <span className="sp" />
              {STATES[one.state].glyph ? (
                <Glyph tone={STATES[one.state].tone}>{STATES[one.state].glyph}</Glyph>
              ) : (
                <span className={styles.blank} />
              )}
            </span>
            <span className="b cut">{one.name || shortClass(one.class)}</span>
            <span className={join("s t3 cut", styles.note)}>
              {STATES[one.state].label}
              {isRolledBack(one, result) ? ", rolled back" : ""}
              {index === result.failed_before ? ", failed before" : ""}
            </span>
          </button>
        ))}
      </div>
      {stage && <Told stage={stage} />}
    </>
  );
}

/** The stage to look at first: the one that says most. */
function telling(stages: RehearsedStage[]): number {
  const end = stages.findIndex(
    ({ state }) => state === "failed" || state === "filtered" || state === "not_rehearsable",
  );
  return end < 0 ? stages.length - 1 : end;
}

function Told({ stage }: { stage: RehearsedStage }) {
  const { after } = stage;
  return (
    <div className={styles.told}>
      {stage.message !== undefined && (
        <p>
          <b>{shortClass(stage.exception_class)}</b>: {stage.message}
        </p>
      )}
      {stage.root_message && (
        <p className="s t2">
          Caused by {shortClass(stage.root_class)}: {stage.root_message}
        </p>
      )}
      {stage.note && <p>{capital(stage.note)}.</p>}
      {stage.predicate && (
        <p>
          {stage.state === "skipped"
            ? `Its predicate ${stage.predicate} does not hold: the record goes by.`
            : `Its predicate ${stage.predicate} holds.`}
        </p>
      )}
      {after?.topic !== undefined && <Part name="topic" text={after.topic} />}
      {after?.key && <Data name="key" shown={after.key} />}
      {after?.value && (
        <Data
          name={stage.state === "not_rehearsable" ? "would be written" : isPut(stage) ? "row" : "value"}
          shown={after.value}
        />
      )}
      {after?.headers?.map((header, index) => (
        <Data key={index} name={`header ${header.name}`} shown={header} />
      ))}
      {stage.state === "ok" && after && Object.keys(after).length === 0 && <p className="t3">It changes nothing.</p>}
      {stage.state === "not_reached" && <p className="t3">The record does not come this far in the rehearsal.</p>}
    </div>
  );
}

function Data({ name, shown }: { name: string; shown: Shown }) {
  return (
    <Part
      name={`${name}${shown.schema ? `, ${shown.schema}` : ""}${shown.base64 ? ", base64" : ""}${shown.cut ? ", its beginning" : ""}`}
      text={shown.value ?? "null"}
    />
  );
}

function Part({ name, text }: { name: string; text: string }) {
  return (
    <>
      <div className="s t3">{name}</div>
      <pre className={styles.data} tabIndex={0} aria-label={name}>
        {text}
      </pre>
    </>
  );
}
