import { keepPreviousData, useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ALL_TIME } from "../lib/ranges";
import { followed } from "../lib/streaming";
import { get, send } from "./client";
import type { Common, GroupDetail, GroupPage, Regrouping } from "./types";

const OPEN_POLL_MS = 10_000;

export function useGroups(query: string) {
  return useInfiniteQuery({
    queryKey: ["groups", query],
    queryFn: ({ pageParam, signal }) => {
      const params = new URLSearchParams(query);
      if (pageParam) params.set("cursor", pageParam);
      return get<GroupPage>("groups", params, signal);
    },
    initialPageParam: "",
    getNextPageParam: (last) => last.next ?? undefined,
    placeholderData: keepPreviousData,
    staleTime: Infinity,
  });
}

/** The present counts of groups, read again after live events, or every `everyMs` without them. */
export function useGroupCounts(query: string, everyMs: number) {
  return useQuery({
    queryKey: ["group-counts", query],
    queryFn: ({ signal }) => get<GroupPage>("groups", new URLSearchParams(query), signal),
    select: (page) => ({ counts: page.counts, total_records: page.total_records }),
    ...followed(everyMs),
  });
}

/** The groups with the most open dead letters, whatever the time range. */
export function useOpenGroups(limit: number) {
  const query = new URLSearchParams({ status: "unresolved", sort: "open", from: ALL_TIME, limit: String(limit) });
  return useQuery({
    queryKey: ["groups", "open", limit],
    queryFn: ({ signal }) => get<GroupPage>("groups", query, signal),
    ...followed(OPEN_POLL_MS),
  });
}

interface Time {
  from: string;
  to: string;
}

/** Load a group; a new time range keeps the old data until it is loaded, another group does not. */
export function useGroup(id: number | undefined, { from, to }: Time) {
  return useQuery({
    queryKey: ["group", id, from, to],
    queryFn: ({ signal }) => get<GroupDetail>(`groups/${id}`, new URLSearchParams({ from, to }), signal),
    enabled: id !== undefined,
    placeholderData: (before) => (before?.id === id ? before : undefined),
    refetchInterval: 30_000,
  });
}

export function useCommon(id: number, { from, to }: Time) {
  return useQuery({
    queryKey: ["group-common", id, from, to],
    queryFn: ({ signal }) => get<Common>(`groups/${id}/common`, new URLSearchParams({ from, to }), signal),
    staleTime: 300_000,
  });
}

export function useNote(group: number) {
  const invalidateGroups = useInvalidateGroups();
  return useMutation({
    mutationFn: (text: string) => send<unknown>("POST", `groups/${group}/notes`, { text }),
    onSuccess: invalidateGroups,
  });
}

export interface MuteUntil {
  until?: string;
  events?: number;
  rate?: number;
}

export type GroupsAct =
  | { act: "resolve" | "reopen"; body: { reason: string } }
  | { act: "mute"; body: MuteUntil & { reason: string } }
  | { act: "assign"; body: { username: string | null; team?: string | null } };

/** Change several groups. */
export function useGroupsAct() {
  const invalidateGroups = useInvalidateGroups();
  return useMutation({
    mutationFn: ({ groups, act, body }: GroupsAct & { groups: readonly number[] }) =>
      send<{ changed: number }>("POST", `groups/${act}`, { groups, ...body }),
    onSuccess: invalidateGroups,
  });
}

export type Regroup =
  | { act: "merge"; groups: readonly number[]; into: number; reason: string }
  | { act: "split"; group: number; fingerprints: readonly number[]; reason: string }
  | { act: "undo"; regrouping: number };

/** Merge or split groups, or undo that. */
export function useRegroup() {
  const invalidateGroups = useInvalidateGroups();
  return useMutation({
    mutationFn: (what: Regroup) => {
      if (what.act === "undo") return send<Regrouping>("POST", `regroupings/${what.regrouping}/undo`);
      if (what.act === "split")
        return send<Regrouping>("POST", `groups/${what.group}/split`, {
          fingerprints: what.fingerprints,
          reason: what.reason,
        });
      return send<Regrouping>("POST", "groups/merge", { groups: what.groups, into: what.into, reason: what.reason });
    },
    onSuccess: invalidateGroups,
  });
}

/** Refetch all data about groups. Do not wait for it, because the caller may be unmounted by then. */
function useInvalidateGroups() {
  const client = useQueryClient();
  return () =>
    ["groups", "group", "group-common", "group-counts", "summary", "attention"].forEach(
      (key) => void client.invalidateQueries({ queryKey: [key] }),
    );
}
