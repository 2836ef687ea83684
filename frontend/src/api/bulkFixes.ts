import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { API, get, send, sendFile } from "./client";
import type { Selection } from "./replayTypes";
import type {
  BulkPreview,
  BulkPreviewBodyRequest,
  SampleDocument as Sample,
  BulkFixDocument as BulkFix,
  FixSuggestionDocument as Suggestion,
} from "./schema";

export type {
  SampleDocument as Sample,
  PreviewCounts as BulkCounts,
  BulkPreview,
  BulkFixDocument as BulkFix,
  FixSuggestionDocument as Suggestion,
} from "./schema";

export type BulkKind = BulkPreviewBodyRequest["kind"];
export type BulkStatus = BulkFix["status"];
/** States in which a worker changes the job, so that it is polled. */
export const UNFINISHED: ReadonlySet<BulkStatus> = new Set(["running", "undoing"]);
export type SampleChange = Sample["what"];
export type BulkBody = BulkPreviewBodyRequest;

/** Preview a program. The server stores nothing. */
export function useBulkPreview(body: BulkBody) {
  return useQuery({
    queryKey: ["bulk-preview", body],
    queryFn: () => send<BulkPreview>("POST", "bulk-fixes/preview", body),
    enabled: body.program.trim() !== "" && body.selection > 0,
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    retry: false,
  });
}

export function useStartBulkFix() {
  return useMutation({
    mutationFn: ({ body, key }: { body: BulkBody & { replace: boolean }; key: string }) =>
      send<BulkFix>("POST", "bulk-fixes", body, key),
  });
}

export function useBulkFix(id: string) {
  return useQuery({
    queryKey: ["bulk-fix", id],
    queryFn: ({ signal }) => get<BulkFix>(`bulk-fixes/${id}`, undefined, signal),
    refetchInterval: ({ state }) => (state.data && UNFINISHED.has(state.data.status) ? 1_000 : false),
  });
}

export function useBulkAct(id: number) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (act: "cancel" | "undo") => send<BulkFix>("POST", `bulk-fixes/${id}/${act}`, {}),
    onSuccess: (next) => {
      client.setQueryData(["bulk-fix", String(id)], next);
      return client.invalidateQueries({ queryKey: ["fixes"] });
    },
  });
}

/** Freeze the records that a bulk fix changed as a selection. */
export function useBulkSelection(id: number) {
  return useMutation({ mutationFn: (key: string) => send<Selection>("POST", `bulk-fixes/${id}/selection`, {}, key) });
}

export function exportUrl(selection: number): string {
  return `${API}/bulk-fixes/export?selection=${selection}`;
}

export function useImport() {
  return useMutation({
    mutationFn: ({ file, replace, key }: { file: Blob; replace: boolean; key: string }) =>
      sendFile<BulkFix>(`bulk-fixes/import?replace=${replace}`, file, "application/x-ndjson", key),
  });
}

export function useSuggestions(id: number) {
  return useQuery({
    queryKey: ["suggestions", id],
    queryFn: ({ signal }) => get<{ results: Suggestion[] }>(`dead-letters/${id}/suggestions`, undefined, signal),
    staleTime: Infinity,
    retry: false,
  });
}
