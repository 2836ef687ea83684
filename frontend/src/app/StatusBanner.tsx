import { useHealth } from "../api/health";
import { useServerState } from "../lib/serverState";
import type { Health } from "../api/types";
import { count, plural, span } from "../lib/format";
import { useNow } from "../lib/zone";
import { LinkButton } from "../ui/controls";
import { Strip } from "../ui/Panel";

const BEHIND_RECORDS = 1_000;
const BEHIND_S = 30;

/** Return whether the index is far enough behind the topics for a warning. */
export function isIndexBehind({ index }: Health): boolean {
  return (index.records_behind ?? 0) > BEHIND_RECORDS || (index.seconds_behind ?? 0) > BEHIND_S;
}

export function secondsBehind(seconds: number): string {
  return seconds < 10 ? `${Math.max(0, seconds).toFixed(1)} s` : span(seconds * 1000);
}

/** The most severe current problem, shown above every screen. */
export function StatusBanner() {
  const { data: health, error, dataUpdatedAt } = useHealth();
  const { unreachableSince, hasNewBuild } = useServerState();
  const now = useNow(1_000);
  if (unreachableSince !== null)
    return (
      <Strip tone="failed">
        The server has not responded for {span(Math.max(0, now - unreachableSince))}. The screen shows the last known
        state. It refreshes automatically when the server responds.
      </Strip>
    );
  if (error)
    return (
      <Strip tone="failed">
        The server can't read its state: {error.message} The screen shows the state
        {dataUpdatedAt > 0 ? ` of ${span(Math.max(0, now - dataUpdatedAt))} ago` : " that was loaded before"}.
      </Strip>
    );
  if (hasNewBuild)
    return (
      <Strip tone="accent">
        <span>
          A new version of the dashboard is installed.{" "}
          <LinkButton onClick={() => window.location.reload()}>Reload</LinkButton> to use it. Unsaved input is lost.
        </span>
      </Strip>
    );
  if (!health) return null;
  if (!health.broker.reachable)
    return (
      <Strip tone="warn">
        Kafka does not respond. Records and counts show the last indexed state. Replays are not possible until Kafka is
        back.
      </Strip>
    );
  if (isIndexBehind(health))
    return (
      <Strip tone="warn">
        The index is {plural(health.index.records_behind ?? 0, "record")} behind{seconds(health.index.seconds_behind)}:
        the newest failures are not shown yet.
      </Strip>
    );
  const behind = health.index.text?.records_behind ?? 0;
  if (behind > BEHIND_RECORDS)
    return (
      <Strip tone="warn">
        Lists and counts are up to date, but text search does not include the newest {count(behind)} records yet.
      </Strip>
    );
  return null;
}

function seconds(behind: number | null): string {
  return behind === null ? "" : ` (≈ ${secondsBehind(behind)})`;
}
