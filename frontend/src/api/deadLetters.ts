import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient, type QueryFilters } from "@tanstack/react-query";
import { ALL_TIME } from "../lib/ranges";
import { followed } from "../lib/streaming";
import { API, get } from "./client";
import { getCancellable } from "./searches";
import type { DeadLetter, DeadLetterPage, Facets, Neighbours, TimeSeries } from "./types";

export const PAGE_SIZE = 100;

/** The query keys of all requests that the records page makes for a filter. */
const LIST_QUERY_KEYS = ["dead-letters", "dead-letters-total", "facets", "histogram"];

/** Cancel all requests of a filter, also on the server, or repeat them. */
export function useListRequests(query: string): { cancel: () => void; again: () => void } {
  const client = useQueryClient();
  const each = (act: (filters: QueryFilters) => Promise<void>) =>
    void Promise.all(LIST_QUERY_KEYS.map((name) => act({ queryKey: [name, query], type: "active" })));
  return {
    cancel: () => each((filters) => client.cancelQueries(filters)),
    again: () => each((filters) => client.refetchQueries(filters)),
  };
}

/** Load pages of dead letters, newest first; `query` is the filter as a query string. */
export function useDeadLetters(query: string) {
  return useInfiniteQuery({
    queryKey: ["dead-letters", query],
    queryFn: ({ pageParam, signal }) => getCancellable<DeadLetterPage>("dead-letters", page(query, pageParam), signal),
    initialPageParam: "",
    getNextPageParam: (last) => last.next ?? undefined,
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    gcTime: 10 * 60_000,
  });
}

/** The present total of a filter, read again every `everyMs`, so that a list can say what is new without moving. */
export function useDeadLetterTotal(query: string, everyMs: number, wanted = true) {
  return useTotal(query, { refetchInterval: everyMs }, wanted);
}

/** The present total of a filter, read again after live events, or every `everyMs` without them. */
export function useFollowedTotal(query: string, everyMs: number) {
  return useTotal(query, followed(everyMs));
}

function useTotal(
  query: string,
  refresh: Partial<ReturnType<typeof followed>> | { refetchInterval: number },
  wanted = true,
) {
  return useQuery({
    queryKey: ["dead-letters-total", query],
    enabled: wanted,
    queryFn: ({ signal }) => {
      const params = new URLSearchParams(query);
      params.set("limit", "1");
      return getCancellable<DeadLetterPage>("dead-letters", params, signal);
    },
    select: (answer) => answer.total,
    ...refresh,
  });
}

/** Load the newest dead letter that failed before `to`; null if none was indexed. */
export function useNewestDeadLetter(wanted = true, to = "now") {
  return useQuery({
    queryKey: ["dead-letters-newest", to],
    enabled: wanted,
    queryFn: ({ signal }) =>
      get<DeadLetterPage>("dead-letters", new URLSearchParams({ from: ALL_TIME, to, limit: "1" }), signal),
    select: (answer) => (answer.partial ? undefined : (answer.results[0] ?? null)),
    ...followed(15_000),
  });
}

export function useFacets(query: string) {
  return useQuery({
    queryKey: ["facets", query],
    queryFn: ({ signal }) => getCancellable<Facets>("dead-letters/facets", new URLSearchParams(query), signal),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });
}

export function useHistogram(query: string) {
  return useQuery({
    queryKey: ["histogram", query],
    queryFn: ({ signal }) => getCancellable<TimeSeries>("dead-letters/histogram", new URLSearchParams(query), signal),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });
}

export function useDeadLetter(id: string, query: string) {
  return useQuery({
    queryKey: ["dead-letter", id, query],
    queryFn: ({ signal }) => get<DeadLetter>(`dead-letters/${id}`, new URLSearchParams(query), signal),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });
}

export function useNeighbours(id: number) {
  return useQuery({
    queryKey: ["neighbours", id],
    queryFn: ({ signal }) => get<Neighbours>(`dead-letters/${id}/neighbours`, undefined, signal),
    staleTime: 60_000,
    retry: false,
  });
}

export function bytesUrl(id: number, part: "key" | "value" | "context"): string {
  return `${API}/dead-letters/${id}/bytes?part=${part}`;
}

function page(query: string, cursor: string): URLSearchParams {
  const params = new URLSearchParams(query);
  params.set("limit", String(PAGE_SIZE));
  if (cursor) params.set("cursor", cursor);
  return params;
}
