import { useQuery } from "@tanstack/react-query";
import type { Coordinates } from "../lib/palette";
import { get } from "./client";
import type { Facets, GroupPage } from "./types";

const LAST_30_DAYS = "from=now-30d&to=now";

/** Load the names of topics and groups of the last 30 days. */
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
  return { topics, groups };
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
