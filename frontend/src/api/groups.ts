import { keepPreviousData, useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { get, send } from "./client";
import type { GroupDetail, GroupPage } from "./types";

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

/** The present counts of groups, asked again every `everyMs`. */
export function useGroupCounts(query: string, everyMs: number) {
  return useQuery({
    queryKey: ["group-counts", query],
    queryFn: ({ signal }) => get<GroupPage>("groups", new URLSearchParams(query), signal),
    select: (page) => ({ counts: page.counts, total_records: page.total_records }),
    refetchInterval: everyMs,
  });
}

export function useGroup(id: number | undefined) {
  return useQuery({
    queryKey: ["group", id],
    queryFn: ({ signal }) => get<GroupDetail>(`groups/${id}`, undefined, signal),
    enabled: id !== undefined,
    placeholderData: keepPreviousData,
    refetchInterval: 30_000,
  });
}

export type GroupAct =
  | { act: "resolve" | "reopen"; body: { reason: string } }
  | { act: "assign"; body: { username: string | null } }
  | { act: "notes"; body: { text: string } };

export function useGroupAct(id: number) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ act, body }: GroupAct) => send<unknown>("POST", `groups/${id}/${act}`, body),
    onSuccess: () =>
      Promise.all(["groups", "group", "group-counts", "summary", "attention"].map((key) => client.invalidateQueries({ queryKey: [key] }))),
  });
}
