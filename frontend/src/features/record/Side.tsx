import { Link } from "react-router";
import { useNeighbours } from "../../api/deadLetters";
import { useReplaysOf } from "../../api/fixes";
import type { LetterReplays } from "../../api/replayTypes";
import type { DeadLetter, Neighbour } from "../../api/types";
import { count, dateMinute, dayMonth, plural, timeOfDay } from "../../lib/format";
import { groupState } from "../../lib/states";
import { mergedByTime } from "../../lib/timeline";
import { useZone } from "../../lib/zone";
import { SkeletonRows, Chip, Panel, Strip, join } from "../../ui/Panel";
import { KeyText } from "../../ui/WithheldNotice";
import { disposedWord } from "../disposing/words";
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

/** What happened to the dead letter itself, in the order that it came in, and to it in replays, by time. */
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
  const told = new Set([letter.id, ...(replays?.timeline ?? []).map((one) => one.dead_letter)]); // an outcome tells of its dead letter
  const related = (replays?.lineage ?? [])
    .filter((one) => !told.has(one.dead_letter))
    .map((one) => ({ at: one.at, text: one.text, tone: styles.bad, to: `/records/${one.dead_letter}` }));
  const disposal = replays?.disposal;
  const decided = disposal
    ? [
        {
          at: disposal.at,
          text: `${disposedWord(disposal.kind)} by ${disposal.by ?? "somebody"}`,
          tone: undefined,
          to: undefined,
        },
      ]
    : [];
  return mergedByTime<TimelineEvent>(own, [...sent, ...related, ...decided]);
}

/** The records beside this one in its origin partition, failed or not. */
export function NeighbourPanel({ letter, address }: { letter: DeadLetter; address: string }) {
  const { data, isPending, isError } = useNeighbours(letter.id);
  if (isError || (data && data.results.length === 0 && !data.not_allowed)) return null;
  return (
    <Panel
      title={
        <>
          <h2>Neighbours</h2>
          {letter.origin_partition !== null && <span className="s t3">origin partition {letter.origin_partition}</span>}
        </>
      }
    >
      {data?.not_allowed && <Strip tone="warn">Not fetched: not allowed. {data.not_allowed}.</Strip>}
      {isPending ? (
        <SkeletonRows rows={5} height={14} />
      ) : (
        <table className={styles.neighbours}>
          <tbody>
            {data?.results.map((one) => (
              <NeighbourRow key={one.offset} one={one} address={address} />
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}

function NeighbourRow({ one, address }: { one: Neighbour; address: string }) {
  const { zone } = useZone();
  const label = (
    <span className={one.state === "passed" ? "passed" : one.state === "failed" ? "failed" : "t3"}>
      {one.state === "passed" ? "✓" : one.state === "failed" ? "✕" : "?"} {one.this ? "this record" : one.label}
    </span>
  );
  return (
    <tr className={one.this ? styles.me : undefined}>
      <td className="mono">{count(one.offset)}</td>
      <td className="mono cut" title={one.key_text ?? undefined}>
        <KeyText of={one} />
      </td>
      <td className="mono t3">{one.at ? timeOfDay(one.at, zone) : ""}</td>
      <td className={join("s cut", one.this && "b")} title={one.label}>
        {one.id && !one.this ? <Link to={`/records/${one.id}?${address}`}>{label}</Link> : label}
      </td>
    </tr>
  );
}

export function GroupCard({ letter }: { letter: DeadLetter }) {
  const { zone } = useZone();
  const group = letter.group;
  if (!group) return null;
  const state = group.state ? groupState(group.state) : null;
  return (
    <Panel>
      <div style={{ padding: "11px 16px" }}>
        <Link className="b" to={`/groups/${group.id}`} style={{ overflowWrap: "anywhere" }}>
          {group.title}
        </Link>
        <div className="row s t3" style={{ marginTop: 4, flexWrap: "wrap" }}>
          {state && (
            <Chip tone={state.tone}>
              {state.glyph} {state.label}
            </Chip>
          )}
          {group.events !== undefined && (
            <span>
              {plural(group.events, "event")} since {dateMinute(group.first_seen, zone)}
            </span>
          )}
          {group.events_24h !== undefined && <span>{count(group.events_24h)} in 24 h</span>}
        </div>
      </div>
    </Panel>
  );
}
