import { useReplayLog } from "../../api/replays";
import type { StreamState } from "../../api/replayStream";
import type { Replay } from "../../api/replayTypes";
import { useSession } from "../../api/session";
import { ago, timeOfDay } from "../../lib/format";
import { useNow, useZone } from "../../lib/zone";
import { Avatar, SkeletonRows, Glyph, Notice, Panel } from "../../ui/Panel";
import styles from "./Replays.module.css";

const MACHINE = "dlqadmin";

export function ReplayLogPanel({
  replay,
  live,
  everyMs,
}: {
  replay: Replay;
  live: StreamState | null;
  everyMs: number;
}) {
  const { zone } = useZone();
  const { data: session } = useSession();
  const { data, error } = useReplayLog(String(replay.id), everyMs);
  return (
    <Panel title="Log" aside={<StreamStatus live={live} />}>
      {!data &&
        (error ? <Notice title="The log could not be loaded">{error.message}</Notice> : <SkeletonRows rows={5} />)}
      {data && (
        <div className={styles.log}>
          {data.results.map((entry, index) => (
            <div key={index}>
              <span className="mono xs t3">{timeOfDay(entry.at, zone)}</span>
              {entry.actor === MACHINE || entry.actor === "" ? (
                <Glyph tone="plain">·</Glyph>
              ) : (
                <Avatar name={entry.actor} me={entry.actor === session?.username} size={16} />
              )}
              <span className="s">
                {entry.actor !== MACHINE && entry.actor !== "" && !entry.text.startsWith(entry.actor) && (
                  <b>{entry.actor} </b>
                )}
                {entry.text}
              </span>
            </div>
          ))}
        </div>
      )}
    </Panel>
  );
}

/** The state of the live updates. */
function StreamStatus({ live }: { live: StreamState | null }) {
  const now = useNow(1_000);
  if (!live) return <span className="s t3">settled</span>;
  if (live.streaming)
    return (
      <span className="s">
        <span className="passed" aria-hidden="true">
          ●
        </span>{" "}
        live
      </span>
    );
  return (
    <span className="s warn b" role="status">
      ! stream lost {ago(new Date(live.heardAt).toISOString(), now)}; polling every 2 s
    </span>
  );
}
