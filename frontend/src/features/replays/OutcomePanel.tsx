import type { Replay } from "../../api/replayTypes";
import { count, percent, plural, span } from "../../lib/format";
import { countEquation, remainingMs, rateWords, reasonRows, sentCount, settledCount } from "../../lib/outcome";
import { itemState, reasonWords } from "../../lib/states";
import { Glyph, Panel } from "../../ui/Panel";
import { ContinueReplay } from "./ContinueReplay";
import { OutcomeBar } from "./OutcomeBar";
import { ResolvableGroups } from "./ResolvableGroups";
import styles from "./Replays.module.css";

/** The counts of a replay by outcome, with the sum that shows that they are complete. */
export function OutcomePanel({ replay }: { replay: Replay }) {
  const { counts } = replay;
  const figures = [
    { state: "passed", value: counts.passed, note: reasonsNote(replay, "passed") || "none yet" },
    {
      state: "failed_again",
      value: counts.failed_again,
      note:
        counts.failed_again > 0
          ? `${percent(counts.failed_again, counts.total)} of ${count(counts.total)}; ${percent(counts.failed_again, settledCount(counts))} of settled`
          : "none so far",
    },
    { state: "unknown", value: counts.unknown, note: reasonsNote(replay, "unknown") || "none" },
    { state: "sent", value: counts.waiting, note: reasonsNote(replay, "sent") || "sent, not settled yet" },
    {
      state: "queued",
      value: counts.queued + counts.sending,
      note: counts.sending > 0 ? `${count(counts.sending)} of them sending` : "not sent",
    },
    ...(counts.skipped > 0 ? [{ state: "skipped", value: counts.skipped, note: reasonsNote(replay, "skipped") }] : []),
  ];
  return (
    <Panel className={styles.gap} label="Outcome">
      <div className={styles.outcome}>
        <div className="row" style={{ flexWrap: "wrap", gap: "2px 10px" }}>
          <h2>Outcome</h2>
          <span className="s t2" data-testid="adds-up">
            {countEquation(counts, count)}
          </span>
          <span className="sp" />
          <span className="s t2">
            <RemainingRecords replay={replay} />
          </span>
        </div>
        <OutcomeBar figures={counts} />
        <ResolvableGroups replay={replay} />
        <ContinueReplay replay={replay} />
        <div className={styles.figures}>
          {figures.map(({ state, value, note }) => {
            const { label, glyph, tone } = itemState(state);
            return (
              <div key={state} data-testid={`figure-${state}`}>
                <Glyph tone={tone}>{glyph}</Glyph>
                <div>
                  <div>
                    <b className={value > 0 ? tone : "t3"}>{count(value)}</b> {label}
                  </div>
                  <div className="s t3">{note}</div>
                </div>
              </div>
            );
          })}
        </div>
      </div>
    </Panel>
  );
}

function RemainingRecords({ replay }: { replay: Replay }) {
  const { counts, rate, status } = replay;
  const sent = sentCount(counts);
  const left = counts.queued + counts.sending;
  const ms = remainingMs(counts, rate, status);
  const recall = sent > 0 && left > 0 ? ` Cancel cannot recall the ${count(sent)} sent.` : "";
  if (left === 0)
    return counts.waiting > 0
      ? `${plural(counts.waiting, "outcome")} awaited.`
      : "Outcomes can change if a dead letter arrives later.";
  if (status === "paused") return `${count(left)} left, paused.${recall}`;
  if (status !== "running") return `${count(left)} left.${recall}`;
  return ms !== null ? (
    <>
      {count(left)} left at {rateWords(rate)}: <b>{span(ms)}</b>.{recall}
    </>
  ) : (
    `${count(left)} left, no limit.${recall}`
  );
}

function reasonsNote(replay: Replay, state: string): string {
  const found = reasonRows(replay.counts, replay.reasons).filter((one) => one.state === state);
  if (found.length > 2) return `${found.length} reasons, see below`;
  return found
    .map((one) =>
      found.length > 1 ? `${count(one.count)} ${shortReason(state, one.reason)}` : shortReason(state, one.reason),
    )
    .join(", ");
}

function shortReason(state: string, reason: string): string {
  return state === "unknown" && reason !== "" ? reason : reasonWords(state, reason);
}
