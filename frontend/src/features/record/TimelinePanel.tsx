import { Link } from "react-router";
import { useReplaysOf } from "../../api/fixes";
import type { LetterReplays } from "../../api/replayTypes";
import type { DeadLetter } from "../../api/types";
import { dateMinute, dayMonth, timeOfDay } from "../../lib/format";
import { mergedByTime } from "../../lib/timeline";
import { useZone } from "../../lib/zone";
import { Panel } from "../../ui/Panel";
import { disposalLabel } from "../disposals/decisions";
import styles from "./Record.module.css";

const BAD = /fail|error|retry|dead/;
const GOOD = /index|commit|produced_dead|resolved/;

interface TimelineEvent {
  at: string;
  text: string;
  tone: string | undefined;
  to: string | undefined;
}

export function TimelinePanel({ letter }: { letter: DeadLetter }) {
  const { zone } = useZone();
  const { data } = useReplaysOf(letter.id);
  return (
    <Panel
      title="Timeline"
      aside={
        <span className="s t3">
          {dayMonth(letter.failed_at, zone)}, {zone === "utc" ? "UTC" : "local time"}
        </span>
      }
    >
      <div className={styles.timeline}>
        {timelineEvents(letter, data).map((event, index) => [
          <span key={`a${index}`} className={styles.time} title={dateMinute(event.at, zone)}>
            {dayMonth(event.at, zone) === dayMonth(letter.failed_at, zone)
              ? timeOfDay(event.at, zone, true)
              : dateMinute(event.at, zone)}
          </span>,
          <i key={`b${index}`} className={event.tone} />,
          <span key={`c${index}`}>{event.to ? <Link to={event.to}>{event.text}</Link> : event.text}</span>,
        ])}
      </div>
    </Panel>
  );
}

/** Return the dead letter's own events in their order, merged with its replays' events by time. */
function timelineEvents(letter: DeadLetter, replays: LetterReplays | undefined): TimelineEvent[] {
  const own = letter.timeline.map(({ at, kind, text }) => ({
    at,
    text,
    tone: GOOD.test(kind) ? styles.good : BAD.test(kind) ? styles.bad : undefined,
    to: undefined,
  }));
  const sent = (replays?.timeline ?? []).map(({ at, kind, text, replay, dead_letter: other }) => ({
    at,
    text,
    tone: /failed again/i.test(text) ? styles.bad : kind === "edited" ? undefined : styles.good,
    to:
      kind === "replay_outcome" && other !== null && other !== letter.id
        ? `/records/${other}`
        : replay !== null
          ? `/replays/${replay}`
          : undefined,
  }));
  // An outcome event already mentions its dead letter.
  const mentioned = new Set([letter.id, ...(replays?.timeline ?? []).map((one) => one.dead_letter)]);
  const related = (replays?.lineage ?? [])
    .filter((one) => !mentioned.has(one.dead_letter))
    .map((one) => ({ at: one.at, text: one.text, tone: styles.bad, to: `/records/${one.dead_letter}` }));
  const disposal = replays?.disposal;
  const decided = disposal
    ? [
        {
          at: disposal.at,
          text: `${disposalLabel(disposal.kind)} by ${disposal.by ?? "somebody"}`,
          tone: undefined,
          to: undefined,
        },
      ]
    : [];
  return mergedByTime<TimelineEvent>(own, [...sent, ...related, ...decided]);
}
