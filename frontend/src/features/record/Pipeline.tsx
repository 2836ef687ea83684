import type { DeadLetter, NamedText, StageView } from "../../api/types";
import { count, plural, span } from "../../lib/format";
import { shortClass } from "../../lib/stages";
import { Glyph, Notice, join } from "../../ui/Panel";
import styles from "./Record.module.css";

/** The stages of the record's pipeline; the failed stage is marked. */
export function Pipeline({ letter }: { letter: DeadLetter }) {
  if (letter.stages.length === 0 && !letter.readable)
    return <Notice title="No stages are known">The dead letter itself cannot be read.</Notice>;
  const place = originOf(letter);
  return (
    <div className={styles.pipeline} role="group" tabIndex={0} aria-label="Stages">
      <div className={join(styles.stage, styles.origin)}>
        <div className={styles.type}>{letter.source ? "SOURCE" : "ORIGIN"}</div>
        <div className="b cut" title={place.name ?? undefined}>
          {place.name ?? (letter.has_record ? "unknown" : "no record")}
        </div>
        <div className="mono t3 cut">{place.position ?? (letter.has_record ? "position unknown" : "no position")}</div>
      </div>
      {letter.stages.map((stage) => (
        <PipelineStage key={stage.index} stage={stage} letter={letter} />
      ))}
      {letter.stages.length === 0 && <ForeignStages letter={letter} />}
    </div>
  );
}

/** The way of a record through another framework: the part that failed, and the dead letter topic. */
function ForeignStages({ letter }: { letter: DeadLetter }) {
  const group = letter.facts.find(({ name }) => name === "consumer_group")?.value;
  return (
    <>
      <div className={join(styles.stage, styles.failed)} data-state="failed">
        <div className="row" style={{ gap: 3 }}>
          <span className={join(styles.type, "cut")}>{letter.stage}</span>
          <span className="sp" />
          <Glyph tone="failed">✕</Glyph>
        </div>
        <div className="b cut" title={group}>
          {group ?? letter.dialect.title}
        </div>
        <div className={join("s t3 cut", styles.note)}>{retriesOf(letter)}</div>
      </div>
      <div className={styles.stage}>
        <div className={styles.type}>DEAD LETTER</div>
        <div className="b cut" title={letter.topic}>
          {letter.topic}
        </div>
        <div className="mono t3 cut">
          {letter.partition} / {count(letter.offset)}
        </div>
      </div>
    </>
  );
}

/** Return the record's origin: topic, partition and offset, or the source connector's partition and offset. */
function originOf({ source, origin_topic, origin_partition, origin_offset }: DeadLetter) {
  if (!source)
    return {
      name: origin_topic,
      position: origin_partition === null ? null : `${origin_partition} / ${count(origin_offset)}`,
    };
  const joined = (rows: NamedText[]) => rows.map(({ value }) => value).join(" / ") || null;
  return { name: joined(source.partition), position: joined(source.offset) };
}

function PipelineStage({ stage, letter }: { stage: StageView; letter: DeadLetter }) {
  return (
    <div
      className={join(styles.stage, stage.state !== "passed" && styles[stage.state])}
      title={detailsOf(stage)}
      data-state={stage.state}
    >
      <div className="row" style={{ gap: 3 }}>
        <span className={join(styles.type, "cut")}>
          {stage.index} {stage.type}
        </span>
        <span className="sp" />
        {stage.state === "passed" && <Glyph tone="passed">✓</Glyph>}
        {stage.state === "failed" && <Glyph tone="failed">✕</Glyph>}
        {stage.state === "not_reached" && <span className={styles.blank} />}
      </div>
      <div className="b cut">{stage.name || (stage.class ? shortClass(stage.class) : stage.type)}</div>
      <div className={join("s t3 cut", styles.note)}>{stageNote(stage, letter)}</div>
    </div>
  );
}

function stageNote(stage: StageView, letter: DeadLetter): string {
  if (stage.state === "passed") return "passed";
  if (stage.state === "not_reached") return "not reached";
  return retriesOf(letter);
}

/** The retries that the dead letter states. */
function retriesOf(letter: DeadLetter): string {
  if (letter.attempt === null) return "failed";
  const retries = letter.attempt ? plural(letter.attempt, "retry", "retries") : "no retry";
  return letter.attempt && letter.elapsed_ms ? `${retries}, ${span(letter.elapsed_ms)}` : `failed, ${retries}`;
}

/** The class of a stage that shows its name, and the options of the stage. */
function detailsOf(stage: StageView): string | undefined {
  const options = Object.entries(stage.config).map(([name, value]) => `${name}=${value}`);
  return [stage.name && stage.class, ...options].filter(Boolean).join("\n") || undefined;
}
