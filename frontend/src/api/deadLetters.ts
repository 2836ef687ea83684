import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { API, get } from "./client";
import type { DeadLetter, DeadLetterPage, Facets, Neighbours, TimeSeries } from "./types";

export const PAGE_SIZE = 100;

/** Pages of dead letters, newest first; `query` is the filter as a query string. */
export function useDeadLetters(query: string) {
  return useInfiniteQuery({
    queryKey: ["dead-letters", query],
    queryFn: ({ pageParam, signal }) => get<DeadLetterPage>("dead-letters", page(query, pageParam), signal),
    initialPageParam: "",
    getNextPageParam: (last) => last.next ?? undefined,
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    gcTime: 10 * 60_000,
  });
}

/** The present total of a filter, asked again every `everyMs`, so that a list can say what is new without moving. */
export function useDeadLetterTotal(query: string, everyMs: number) {
  return useQuery({
    queryKey: ["dead-letters-total", query],
    queryFn: ({ signal }) => {
      const params = new URLSearchParams(query);
      params.set("limit", "1");
      return get<DeadLetterPage>("dead-letters", params, signal);
    },
    select: (answer) => answer.total,
    refetchInterval: everyMs,
  });
}

export function useFacets(query: string) {
  return useQuery({
    queryKey: ["facets", query],
    queryFn: ({ signal }) => get<Facets>("dead-letters/facets", new URLSearchParams(query), signal),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });
}

export function useHistogram(query: string) {
  return useQuery({
    queryKey: ["histogram", query],
    queryFn: ({ signal }) => get<TimeSeries>("dead-letters/histogram", new URLSearchParams(query), signal),
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

export function exportUrl(format: "ndjson" | "csv", query: string): string {
  const params = new URLSearchParams(query);
  params.set("format", format);
  return `${API}/dead-letters/export?${params}`;
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
