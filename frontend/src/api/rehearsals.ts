import { useMutation, useQuery } from "@tanstack/react-query";
import { get, send } from "./client";

/** Which records to rehearse: some, with one's drafts or as they were; those of a bulk fix; a source's corrected record. */
export type RehearsalBody =
  { dead_letters: number[]; draft: boolean } | { bulk: number; sample?: number } | { source: number; value: string };

/** Data after a stage; `cut` where it is longer than what came. */
export interface Shown {
  schema: string | null;
  value: string | null;
  base64: boolean;
  cut: boolean;
}

export type StageState = "ok" | "failed" | "skipped" | "filtered" | "not_rehearsable" | "not_reached" | "before";

export interface RehearsedStage {
  type: string;
  class: string;
  name: string;
  state: StageState;
  note?: string;
  predicate?: string;
  exception_class?: string;
  message?: string;
  root_class?: string;
  root_message?: string;
  after?: { topic?: string; key?: Shown; value?: Shown; headers?: (Shown & { name: string })[] };
}

export type Verdict = "fixed_here" | "still_fails" | "not_rehearsable" | "filtered";

/** How far one record comes, and what that means. */
export interface Rehearsed {
  dead_letter: { id: number; topic: string; partition: number; offset: number };
  connector: string;
  edited: boolean;
  verdict: Verdict;
  text: string;
  failed_before: number | null;
  stages: RehearsedStage[];
  /** What a source would have written; it is one's draft now. */
  produced: { topic: string; partition: number | null; digest: string; through: string } | null;
}

export interface RehearsalResult {
  id: number;
  state: "waiting" | "done" | "lost";
  trouble: string;
  created_at: string;
  done_at: string | null;
  results: Rehearsed[];
}

export function useRehearse() {
  return useMutation({ mutationFn: (body: RehearsalBody) => send<RehearsalResult>("POST", "rehearsals", body) });
}

/** A rehearsal, looked at until it is done. */
export function useRehearsal(id: number | null) {
  return useQuery({
    queryKey: ["rehearsal", id],
    queryFn: ({ signal }) => get<RehearsalResult>(`rehearsals/${id}`, undefined, signal),
    enabled: id !== null,
    refetchInterval: ({ state }) => (state.data && state.data.state !== "waiting" ? false : 400),
    gcTime: 0,
  });
}
