import { useQuery } from "@tanstack/react-query";
import { get } from "./client";
import type { ClockDocument as RetentionClock, ClockCounts as RetentionTally } from "./schema";

export type { ClockDocument as RetentionClock, ClockCounts as RetentionTally } from "./schema";

export type UnknownReason = NonNullable<RetentionClock["reason"]>;

const POLL_MS = 60_000;

export function useRetention(id: number) {
  return useQuery({
    queryKey: ["retention", id],
    queryFn: ({ signal }) =>
      get<{ dead_letter: RetentionClock; origin: RetentionClock | null }>(
        `dead-letters/${id}/retention`,
        undefined,
        signal,
      ),
    refetchInterval: POLL_MS,
  });
}

/** Load the retention of a group's oldest records; `complete` is false if there are more. */
export function useGroupRetention(id: number) {
  return useQuery({
    queryKey: ["group-retention", id],
    queryFn: ({ signal }) =>
      get<{ dead_letters: RetentionTally; origins: RetentionTally; complete: boolean }>(
        `groups/${id}/retention`,
        undefined,
        signal,
      ),
    refetchInterval: POLL_MS,
  });
}
