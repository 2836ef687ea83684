import { useMutation, useQuery } from "@tanstack/react-query";
import { get, send } from "./client";
import type {
  RehearsedStageDocument as RehearsedStage,
  RehearsedDocument as Rehearsed,
  RehearsalDocument as RehearsalResult,
} from "./schema";

export type {
  ShownDocument as Shown,
  RehearsedStageDocument as RehearsedStage,
  RehearsedPutDocument as RehearsedPut,
  RehearsedDocument as Rehearsed,
  RehearsalDocument as RehearsalResult,
} from "./schema";

/** The records of a rehearsal: dead letters with or without drafts, a bulk fix, or a corrected source record. */
export type RehearsalBody =
  { dead_letters: number[]; draft: boolean } | { bulk: number; sample?: number } | { source: number; value: string };

export type StageState = RehearsedStage["state"];

export type Verdict = Rehearsed["verdict"];

export function useRehearse() {
  return useMutation({ mutationFn: (body: RehearsalBody) => send<RehearsalResult>("POST", "rehearsals", body) });
}

/** Poll a rehearsal until it is done. */
export function useRehearsal(id: number | null) {
  return useQuery({
    queryKey: ["rehearsal", id],
    queryFn: ({ signal }) => get<RehearsalResult>(`rehearsals/${id}`, undefined, signal),
    enabled: id !== null,
    refetchInterval: ({ state }) => (state.data && state.data.state !== "waiting" ? false : 400),
    gcTime: 0,
  });
}
