import { useQuery } from "@tanstack/react-query";
import { get } from "./client";

type ClockState = "leaves" | "overdue" | "gone" | "kept" | "unknown";
export type UnknownReason = "not_told" | "no_topic" | "no_timestamp" | "compaction" | "retention_bytes";

/** When a record leaves Kafka: `until` is the earliest time. */
export interface RetentionClock {
  state: ClockState;
  until: string | null;
  keeps_ms: number | null;
  reason: UnknownReason | null;
}

/** How many of a group's records stand at each state. */
export interface RetentionTally extends Record<ClockState, number> {
  soon: number;
  next: string | null;
  reasons: UnknownReason[];
}

const EVERY_MS = 60_000;

export function useRetention(id: number) {
  return useQuery({
    queryKey: ["retention", id],
    queryFn: ({ signal }) =>
      get<{ dead_letter: RetentionClock; origin: RetentionClock | null }>(
        `dead-letters/${id}/retention`,
        undefined,
        signal,
      ),
    refetchInterval: EVERY_MS,
  });
}

/** Of the group's oldest records that may still be there; not `complete` where there are more. */
export function useGroupRetention(id: number) {
  return useQuery({
    queryKey: ["group-retention", id],
    queryFn: ({ signal }) =>
      get<{ dead_letters: RetentionTally; origins: RetentionTally; complete: boolean }>(
        `groups/${id}/retention`,
        undefined,
        signal,
      ),
    refetchInterval: EVERY_MS,
  });
}
