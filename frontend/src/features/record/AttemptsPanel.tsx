import { Link } from "react-router";
import type { Attempt, DeadLetter } from "../../api/types";
import { count, dateMinute, dayMonth, timeOfDay } from "../../lib/format";
import { topicAddress } from "../../lib/topicRead";
import { useZone } from "../../lib/zone";
import { Panel, join } from "../../ui/Panel";
import tables from "../../ui/tables.module.css";
import styles from "./Record.module.css";

/** The chain of attempts in several topics, as far as the dead letter's headers tell it. */
export function AttemptsPanel({ letter }: { letter: DeadLetter }) {
  const { zone } = useZone();
  if (letter.attempts.length === 0) return null;
  return (
    <Panel
      className={styles.gap}
      title={
        <>
          <h2>Attempts</h2>
          <span className="s t3">as far as the headers tell them</span>
        </>
      }
      aside={
        <span className="s t3">
          {dayMonth(letter.failed_at, zone)}, {zone === "utc" ? "UTC" : "local time"}
        </span>
      }
    >
      <table className={join(tables.compact, styles.attempts)}>
        <thead>
          <tr>
            <th scope="col">#</th>
            <th scope="col">Topic</th>
            <th scope="col">Due</th>
            <th scope="col">Failed</th>
          </tr>
        </thead>
        <tbody>
          {letter.attempts.map((attempt) => (
            <AttemptRow
              cluster={letter.cluster}
              key={attempt.number}
              attempt={attempt}
              day={dayMonth(letter.failed_at, zone)}
            />
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

function AttemptRow({ attempt, cluster, day }: { attempt: Attempt; cluster: string; day: string }) {
  return (
    <tr>
      <td className="mono">{attempt.number}</td>
      <td>
        {attempt.topic === null ? (
          <span className="t3">not in the headers</span>
        ) : (
          <Link className="mono" to={topicAddress(attempt.topic, attempt.partition, attempt.offset, cluster)}>
            {[attempt.topic, attempt.partition, attempt.offset === null ? null : count(attempt.offset)]
              .filter((part) => part !== null)
              .join(" / ")}
          </Link>
        )}
      </td>
      <MomentCell at={attempt.due_at} day={day} />
      <MomentCell at={attempt.failed_at} day={day} />
    </tr>
  );
}

/** A time of the given day, or a date and a time. */
function MomentCell({ at, day }: { at: string | null; day: string }) {
  const { zone } = useZone();
  return (
    <td className="mono" title={at === null ? undefined : dateMinute(at, zone)}>
      {at === null ? (
        <span className="t3">–</span>
      ) : dayMonth(at, zone) === day ? (
        timeOfDay(at, zone, true)
      ) : (
        dateMinute(at, zone)
      )}
    </td>
  );
}
