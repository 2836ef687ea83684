import { useQuery } from "@tanstack/react-query";
import type { Coordinates } from "../lib/palette";
import { get } from "./client";
import type { ReplayPage } from "./replayTypes";
import type { BulkFixList } from "./schema";
import type { Facets, GroupPage } from "./types";

const LAST_30_DAYS = "from=now-30d&to=now";

/** Load the names of topics and groups of the last 30 days, and of the newest replays and bulk fixes. */
export function usePaletteNames() {
  const topics = useQuery({
    queryKey: ["palette-topics"],
    queryFn: ({ signal }) => get<Facets>("dead-letters/facets", new URLSearchParams(LAST_30_DAYS), signal),
    staleTime: 60_000,
  });
  const groups = useQuery({
    queryKey: ["palette-groups"],
    queryFn: ({ signal }) => get<GroupPage>("groups", new URLSearchParams(LAST_30_DAYS), signal),
    staleTime: 60_000,
  });
  const replays = useQuery({
    queryKey: ["palette-replays"],
    queryFn: ({ signal }) => get<ReplayPage>("replays", undefined, signal),
    staleTime: 60_000,
  });
  const bulkFixes = useQuery({
    queryKey: ["palette-bulk-fixes"],
    queryFn: ({ signal }) => get<BulkFixList>("bulk-fixes", undefined, signal),
    staleTime: 60_000,
  });
  return { topics, groups, replays, bulkFixes };
}

/** Load one replay by its number, which may be older than the newest ones. */
export function useReplayNumbered(id: number | null) {
  return useQuery({
    queryKey: ["palette-replay", id],
    queryFn: ({ signal }) => get<{ id: number; title: string }>(`replays/${id}`, undefined, signal),
    enabled: id !== null,
    retry: false,
    staleTime: 60_000,
  });
}

/** Load the replay whose UUID is in the header dlq.replay.id of the records that it sent; null if there is none. */
export function useReplayWithUuid(uuid: string | null) {
  return useQuery({
    queryKey: ["palette-replay-uuid", uuid],
    queryFn: async ({ signal }) => {
      const page = await get<ReplayPage>("replays", new URLSearchParams({ uuid: uuid ?? "" }), signal);
      return page.results[0] ?? null;
    },
    enabled: uuid !== null,
    retry: false,
    staleTime: 60_000,
  });
}

/** Load the dead letter at these coordinates, or with this origin. */
export function useDeadLetterAt(place: Coordinates | null) {
  return useQuery({
    queryKey: ["dead-letter-at", place],
    queryFn: ({ signal }) => {
      if (place === null) throw new Error("no coordinates");
      return get<{ id: number; by: "dead_letter" | "origin" }>(
        `dead-letters/at/${encodeURIComponent(place.topic)}/${place.partition}/${place.offset}`,
        undefined,
        signal,
      );
    },
    enabled: place !== null,
    retry: false,
    staleTime: 10_000,
  });
}
