import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { get, send } from "./client";
import type { Draft, FixBody, FixList, FixPage, LetterReplays, RecordFieldList } from "./replayTypes";

/** Load a record's bytes and the user's draft once, so that nothing changes under the editor. */
export function useFix(id: string) {
  return useQuery({
    queryKey: ["fix", id],
    queryFn: ({ signal }) => get<FixPage>(`dead-letters/${id}/fix`, undefined, signal),
    staleTime: Infinity,
    gcTime: 0,
  });
}

export function useSaveFix(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: FixBody) => send<Draft>("PUT", `dead-letters/${id}/fix`, body),
    onSuccess: () => client.invalidateQueries({ queryKey: ["fixes"] }),
  });
}

export function useDropFix(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => send<void>("DELETE", `dead-letters/${id}/fix`),
    onSuccess: () => Promise.all([["fix", id], ["fixes"]].map((queryKey) => client.invalidateQueries({ queryKey }))),
  });
}

export function useFixes() {
  return useQuery({ queryKey: ["fixes"], queryFn: ({ signal }) => get<FixList>("fixes", undefined, signal) });
}

/** Load the replays of a dead letter, for its timeline. */
/** Load the fields that the record's error names, with the positions of their bytes. */
export function useRecordFields(id: number) {
  return useQuery({
    queryKey: ["record-fields", id],
    queryFn: ({ signal }) => get<RecordFieldList>(`dead-letters/${id}/fields`, undefined, signal),
    staleTime: Infinity,
  });
}

export function useReplaysOf(id: number) {
  return useQuery({
    queryKey: ["replays-of", id],
    queryFn: ({ signal }) => get<LetterReplays>(`dead-letters/${id}/replays`, undefined, signal),
    refetchInterval: 5_000,
    retry: false,
  });
}
