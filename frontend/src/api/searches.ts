import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { get, send } from "./client";
import { newIdempotencyKey } from "./replays";
import type { SavedSearchDocument as SavedSearch, QueryCompletion as Completion } from "./schema";

export type { SavedSearchDocument as SavedSearch, QueryCompletion as Completion } from "./schema";

const SAVED = ["saved-searches"];

/** Send a slow request; if it is aborted, the server cancels its database query. */
export function getCancellable<T>(path: string, params: URLSearchParams, signal: AbortSignal): Promise<T> {
  const id = newIdempotencyKey();
  const named = new URLSearchParams(params);
  named.set("query_id", id);
  const cancel = () => void send("DELETE", `queries/${id}`).catch(() => undefined); // without this request the query runs until its time limit
  signal.addEventListener("abort", cancel, { once: true });
  return get<T>(path, named, signal).finally(() => signal.removeEventListener("abort", cancel));
}

/** Load completions for the cursor of a query; `at` counts characters. */
export function useCompletion(query: string, at: number, wanted: boolean) {
  return useQuery({
    queryKey: ["complete", query, at],
    queryFn: ({ signal }) =>
      get<Completion>("dead-letters/complete", new URLSearchParams({ q: query, at: String(at) }), signal),
    enabled: wanted,
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });
}

export function useSavedSearches() {
  return useQuery({
    queryKey: SAVED,
    queryFn: ({ signal }) => get<{ results: SavedSearch[] }>("saved-searches", undefined, signal),
    select: (answer) => answer.results,
  });
}

export function useSaveSearch() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (form: { name: string; query: string; shared: boolean }) =>
      send<SavedSearch>("POST", "saved-searches", form),
    onSuccess: () => client.invalidateQueries({ queryKey: SAVED }),
  });
}

export function useDeleteSearch() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: number) => send<void>("DELETE", `saved-searches/${id}`),
    onSuccess: () => client.invalidateQueries({ queryKey: SAVED }),
  });
}
