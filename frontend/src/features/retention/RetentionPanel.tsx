import { useRetention, type RetentionClock } from "../../api/retention";
import type { DeadLetter } from "../../api/types";
import { bytes, dateTime, span } from "../../lib/format";
import { REASONS, remainingWords } from "../../lib/retention";
import { useNow, useZone } from "../../lib/zone";
import { SkeletonRows, Meter, Panel } from "../../ui/Panel";
import styles from "./Retention.module.css";

const COPIES: Record<DeadLetter["original"], string> = {
  embedded: "kept",
  fetched: "kept",
  expired: "none: the origin was gone before it was indexed",
  unknown: "none: the dead letter does not say where the record was",
  forbidden: "none: not fetched, not allowed",
  erased: "none: erased",
};

/** The time until Kafka deletes a dead letter and its origin record, and whether the index keeps a copy. */
export function RetentionPanel({ letter }: { letter: DeadLetter }) {
  const { data, error } = useRetention(letter.id);
  const copied = letter.original === "embedded" || letter.original === "fetched";
  return (
    <Panel
      title="Retention clock"
      aside={<span className="s t3">earliest deletion times; Kafka deletes whole segments</span>}
    >
      {!data && !error && <SkeletonRows rows={2} height={16} />}
      <dl className={styles.clocks} data-testid="retention">
        {data && <RetentionRow name="Dead letter" clock={data.dead_letter} colour="var(--put-1)" />}
        {data?.origin && <RetentionRow name="Origin record" clock={data.origin} colour="var(--waiting)" />}
        {error && (
          <div>
            <dt>In Kafka</dt>
            <dd className="t2">not known: {error.message}</dd>
          </div>
        )}
        <div>
          <dt>Copy in index</dt>
          <dd className={styles.fact}>
            {copied && <span className="t2">{letter.value.size === null ? "null" : bytes(letter.value.size)}</span>}
            <span className="sp" />
            {letter.has_record ? (
              <b className={copied ? "passed" : "warn"}>{COPIES[letter.original]}</b>
            ) : (
              <span className="t2">none: the error concerns no record</span>
            )}
          </dd>
        </div>
      </dl>
    </Panel>
  );
}

function RetentionRow({ name, clock, colour }: { name: string; clock: RetentionClock; colour: string }) {
  const { zone } = useZone();
  const now = useNow(10_000);
  const left = clock.until ? Date.parse(clock.until) - now : 0;
  return (
    <div>
      <dt>{name}</dt>
      {clock.state === "leaves" && clock.keeps_ms && left > 0 ? (
        <dd className={styles.fact} title={`Not before ${dateTime(clock.until, zone)}${zone === "utc" ? " UTC" : ""}`}>
          <Meter part={left / clock.keeps_ms} colour={colour} />
          <span className="nw">
            <b>{remainingWords(left)}</b> <span className="t3">of {span(clock.keeps_ms)}</span>
          </span>
        </dd>
      ) : (
        <dd className="t2">{stateWords(clock)}</dd>
      )}
    </div>
  );
}

function stateWords({ state, reason }: RetentionClock): string {
  if (state === "gone") return reason === "no_topic" ? "gone: its topic does not exist" : "gone from Kafka";
  if (state === "kept") return "kept forever";
  if (state === "unknown") return `unknown: ${REASONS[reason ?? ""] ?? "not told"}`;
  return "retention time passed: Kafka may delete it at any moment";
}
