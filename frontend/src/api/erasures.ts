import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { API, get, send } from "./client";
import type { ErasureDocument as Erasure, ErasurePage, ErasurePreview } from "./schema";

export type { ErasureDocument as Erasure, ErasurePreview } from "./schema";

/** The dead letters of an erasure: all with one key, or all that a list shows. */
export interface ErasedChoice {
  key_text?: string;
  key_base64?: string;
  filter?: string;
  include_origin_key?: boolean;
  future?: boolean;
}

export interface ErasureRequest {
  choice: ErasedChoice;
  reason: string;
  count: number;
  /** Makes the request idempotent. */
  key: string;
}

const KEY = ["erasures"];
const ACTIVE_POLL_MS = 1_000;

/** Load the erasures, newest first; poll every second while one runs. */
export function useErasures(enabled: boolean) {
  return useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) => get<ErasurePage>("erasures", undefined, signal),
    enabled,
    refetchInterval: ({ state }) =>
      state.data?.results.some((one) => one.state === "running") ? ACTIVE_POLL_MS : false,
  });
}

/** Count what an erasure would erase. A key is sent in the body, so that no log of addresses has it. */
export function usePreviewErasure() {
  return useMutation({
    mutationFn: (choice: ErasedChoice) => send<ErasurePreview>("POST", "erasures/preview", choice),
  });
}

export function useErase() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ choice, reason, count, key }: ErasureRequest) =>
      send<Erasure>("POST", "erasures", { ...choice, reason, confirm_count: count }, key),
    onSuccess: () => client.invalidateQueries(), // every screen may show what was erased
  });
}

export function receiptUrl(one: Erasure): string {
  return `${API}/erasures/${one.id}/receipt`;
}
