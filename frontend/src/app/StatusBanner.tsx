import { useHealth } from "../api/health";
import type { Health } from "../api/types";
import { count, plural, span } from "../lib/format";
import { useNow } from "../lib/zone";
import { Strip } from "../ui/Panel";

const BEHIND_RECORDS = 1_000;
const BEHIND_S = 30;
const SILENCE_MS = 15_000; // three missed polls: health is polled every five seconds

/** Return whether the index is far enough behind the topics for a warning. */
export function isIndexBehind({ index }: Health): boolean {
  return (index.records_behind ?? 0) > BEHIND_RECORDS || (index.seconds_behind ?? 0) > BEHIND_S;
}

export function secondsBehind(seconds: number): string {
  return seconds < 10 ? `${Math.max(0, seconds).toFixed(1)} s` : span(seconds * 1000);
}

/** The most severe current problem, shown above every screen. */
export function StatusBanner() {
  const { data: health, isError, dataUpdatedAt } = useHealth();
  const now = useNow(1_000);
  if (!health) return null;
  const age = now - dataUpdatedAt;
  if (isError && age > SILENCE_MS)
    return (
      <Strip tone="warn">
        The server has not responded for {span(age)}. The screen shows the last known state. It refreshes automatically
        when the server responds.
      </Strip>
    );
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
