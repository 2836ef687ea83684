import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { get, send } from "./client";
import type { Selection } from "./replayTypes";
import type { SelectionRequest } from "./replays";
import type { DisposalActDocument as DisposalAct, DisposalDocument as Disposal } from "./schema";

export type { DisposalDocument as Disposal, DisposalActDocument as DisposalAct } from "./schema";

export type Decision = "discard" | "park" | "handled_elsewhere" | "restore";
export type Disposed = Disposal["kind"];

/** A request to dispose of records; `key` makes it idempotent. */
interface DecisionRequest {
  decision: Decision;
  what: SelectionRequest;
  reason: string;
  key: string;
}

/** Freeze the chosen records as a selection, then dispose of them in the background. */
export function useDecide() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async ({ decision, what, reason, key }: DecisionRequest) => {
      const { id: selection } = await send<Selection>("POST", "selections", what, key);
      return decision === "restore"
        ? send<DisposalAct>("POST", "disposals/restore", { selection, reason }, key)
        : send<DisposalAct>("POST", "disposals", { selection, kind: decision, reason }, key);
    },
    onSuccess: () => client.invalidateQueries(),
  });
}

export function useUndoDisposal() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: number) => send<DisposalAct>("POST", `disposals/${id}/undo`),
    onSuccess: () => client.invalidateQueries(),
  });
}

/** Poll a disposal until it is done. */
export function useDisposalAct(act: DisposalAct) {
  const { data } = useQuery({
    queryKey: ["disposal", act.id],
    queryFn: ({ signal }) => get<DisposalAct>(`disposals/${act.id}`, undefined, signal),
    enabled: act.done_at === null,
    refetchInterval: ({ state }) => (state.data?.done_at ? false : 1_000),
  });
  return data ?? act;
}
