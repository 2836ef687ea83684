import { useMutation, useQueryClient } from "@tanstack/react-query";
import { send } from "./client";
import type { Dismissal } from "./types";

/** Leave a finding out of the list of all users. `until` is an ISO time, or null: until the finding changes. */
export function useDismiss(finding: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: { reason: string; until: string | null }) =>
      send<Dismissal>("POST", `attention/${finding}/dismissal`, body),
    onSuccess: () => client.invalidateQueries({ queryKey: ["attention"] }),
  });
}

/** List a dismissed finding again. */
export function useUndoDismissal() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (finding: string) => send<Dismissal>("DELETE", `attention/${finding}/dismissal`),
    onSuccess: () => client.invalidateQueries({ queryKey: ["attention"] }),
  });
}
