import { keepPreviousData, useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { API, get, send } from "./client";
import type {
  ItemPage,
  Replay,
  ReplayLog,
  ReplayOptions,
  ReplayPage,
  ReplaySeries,
  ResolvableGroup,
  Selection,
  Unfinished,
  UnfinishedBody,
} from "./replayTypes";

export type Order = "attention" | "newest" | "ordinal";
export type SelectionRequest = { ids: number[] } | { filter: string };
export type ReplayAct =
  | { act: "run"; body: { reason: string; plan_digest: string; typed: string; resolve_groups?: boolean } }
  | { act: "ask" | "approve"; body: { reason: string; plan_digest: string } }
  | { act: "reject"; body: { reason: string } }
  | { act: "cancel"; body: { reason: string } }
  | { act: "pause"; body?: undefined }
  | { act: "resume"; body?: { reason: string } }
  | { act: "rate"; body: { rate: number } };

/** Return a new idempotency key for one action of the user. */
export function newIdempotencyKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Freeze the chosen records; the ids that a filter matches stay on the server. */
export function useCreateSelection() {
  return useMutation({
    mutationFn: ({ what, key }: { what: SelectionRequest; key: string }) =>
      send<Selection>("POST", "selections", what, key),
  });
}

export function useSelection(id: string) {
  return useQuery({
    queryKey: ["selection", id],
    queryFn: ({ signal }) => get<Selection>(`selections/${id}`, undefined, signal),
    enabled: id !== "",
  });
}

/** Plan a replay of a selection. It writes nothing to Kafka. */
export function usePlan() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ selection, options, key }: { selection: number; options: ReplayOptions; key: string }) =>
      send<Replay>("POST", "replays", { selection, ...options }, key),
    onSuccess: (replay) => {
      client.setQueryData(["replay", String(replay.id)], replay);
      return client.invalidateQueries({ queryKey: ["replays"] });
    },
  });
}

export function useRecheckPlan(id: number) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (options: Partial<ReplayOptions>) => send<Replay>("POST", `replays/${id}/plan`, options),
    onSuccess: (replay) => {
      client.setQueryData(["replay", String(id)], replay);
      return client.invalidateQueries({ queryKey: ["items", String(id)] });
    },
  });
}

export function useReplay(id: string, everyMs: number | false) {
  return useQuery({
    queryKey: ["replay", id],
    queryFn: ({ signal }) => get<Replay>(`replays/${id}`, undefined, signal),
    refetchInterval: everyMs,
    enabled: id !== "",
  });
}

export function useReplayAct(id: number) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ act, body }: ReplayAct) => send<Replay>("POST", `replays/${id}/${act}`, body ?? {}),
    onSuccess: (replay) => {
      client.setQueryData<Replay>(["replay", String(id)], (old) => mergedReplay(old, replay));
      return Promise.all(
        [["replays"], ["replay-log", String(id)], ["items", String(id)]].map((queryKey) =>
          client.invalidateQueries({ queryKey }),
        ),
      );
    },
  });
}

export function useReplays(status: string) {
  return useInfiniteQuery({
    queryKey: ["replays", status],
    queryFn: ({ pageParam, signal }) => get<ReplayPage>("replays", query({ status, cursor: pageParam }), signal),
    initialPageParam: "",
    getNextPageParam: (last) => last.next ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: 3_000,
  });
}

export function useItems(id: string, order: Order, state: string) {
  return useInfiniteQuery({
    queryKey: ["items", id, order, state],
    queryFn: ({ pageParam, signal }) =>
      get<ItemPage>(`replays/${id}/items`, query({ order, state, cursor: pageParam, limit: "50" }), signal),
    initialPageParam: "",
    getNextPageParam: (last) => last.next ?? undefined,
    placeholderData: keepPreviousData,
    staleTime: Infinity,
  });
}

/** Count the records that still need work; again when `figures` changes. */
export function useUnfinished(id: string, figures = "") {
  return useQuery({
    queryKey: ["unfinished", id, figures],
    queryFn: ({ signal }) => get<Unfinished>(`replays/${id}/unfinished`, undefined, signal),
    enabled: id !== "",
    placeholderData: keepPreviousData,
  });
}

/** Freeze the unfinished records; a paused replay is cancelled if its unsent records are wanted. */
export function useContinue(id: number) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ body, key }: { body: UnfinishedBody; key: string }) =>
      send<Selection>("POST", `replays/${id}/unfinished`, body, key),
    onSettled: () =>
      Promise.all(
        [["replay", String(id)], ["replays"], ["replay-log", String(id)]].map((queryKey) =>
          client.invalidateQueries({ queryKey }),
        ),
      ),
  });
}

/** Remove a replay that was never run. */
export function useRemovePlan(id: number) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => send<void>("DELETE", `replays/${id}`),
    onSuccess: () => client.invalidateQueries({ queryKey: ["replays"] }),
  });
}

/** Load the groups whose replayed records all passed. */
export function useResolvable(id: string, wanted: boolean) {
  return useQuery({
    queryKey: ["resolvable", id],
    queryFn: ({ signal }) => get<{ results: ResolvableGroup[] }>(`replays/${id}/resolvable`, undefined, signal),
    enabled: wanted,
  });
}

export function useReplayLog(id: string, everyMs: number | false) {
  return useQuery({
    queryKey: ["replay-log", id],
    queryFn: ({ signal }) => get<ReplayLog>(`replays/${id}/log`, undefined, signal),
    refetchInterval: everyMs,
  });
}

export function useReplaySeries(id: string, everyMs: number | false) {
  return useQuery({
    queryKey: ["replay-series", id],
    queryFn: ({ signal }) => get<ReplaySeries>(`replays/${id}/series`, undefined, signal),
    refetchInterval: everyMs,
    placeholderData: keepPreviousData,
  });
}

export function eventsUrl(id: string): string {
  return `${API}/replays/${id}/events`;
}

/** Return the newer document; keep the older one's plan if the newer one has none. */
export function mergedReplay(old: Replay | undefined, next: Replay): Replay {
  return old?.plan && !next.plan ? { ...next, plan: old.plan } : next;
}

function query(values: Record<string, string>): URLSearchParams {
  return new URLSearchParams(Object.entries(values).filter(([, value]) => value !== ""));
}
