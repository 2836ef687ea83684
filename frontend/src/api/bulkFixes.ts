import { keepPreviousData, useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { API, get, send, sendFile } from "./client";
import type { Selection } from "./replayTypes";
import type {
  BulkFixDocument as BulkFix,
  BulkFixList,
  BulkPreview,
  BulkPreviewBodyRequest,
  DiscardedDrafts,
  FixList,
  FixProgramDocument as FixProgram,
  FixProgramList,
  FixSuggestionDocument as Suggestion,
  SampleDocument as Sample,
  SelectionFields,
  TemplateBodyRequest,
} from "./schema";

export type {
  BulkFixDocument as BulkFix,
  BulkPreview,
  FieldDocument as SelectionField,
  FixProgramDocument as FixProgram,
  FixRow as OwnDraft,
  FixSuggestionDocument as Suggestion,
  FieldNulls,
  PreviewWarning,
  SampleDocument as Sample,
  SelectionFields,
} from "./schema";

export type BulkKind = BulkPreviewBodyRequest["kind"];
export type BulkStatus = BulkFix["status"];
/** A worker is at it: look again. */
export const UNFINISHED: ReadonlySet<BulkStatus> = new Set(["running", "undoing"]);
export type SampleChange = Sample["what"];
export type BulkBody = BulkPreviewBodyRequest;
/** The drafts of a bulk fix, or of a selection's records. */
export type DraftsOf = { bulk_fix: number } | { selection: number };

/** A sample of the program's results, and counts. No draft is made; the program becomes a version. */
export function useBulkPreview(body: BulkBody, allowed: boolean) {
  const client = useQueryClient();
  return useQuery({
    queryKey: ["bulk-preview", body],
    queryFn: async () => {
      const shown = await send<BulkPreview>("POST", "bulk-fixes/preview", body);
      void client.invalidateQueries({ queryKey: ["fix-versions", body.selection] });
      return shown;
    },
    enabled: allowed && body.program.trim() !== "" && body.selection > 0,
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    retry: false,
  });
}

/** The fields of a selection's records; read once, because it takes up to two seconds. */
export function useSelectionFields(selection: number, enabled: boolean) {
  return useQuery({
    queryKey: ["selection-fields", selection],
    queryFn: ({ signal }) => get<SelectionFields>(`selections/${selection}/fields`, undefined, signal),
    enabled,
    staleTime: Infinity,
    retry: false,
  });
}

/** The programs that were previewed for a selection. */
export function useFixVersions(selection: number, enabled: boolean) {
  return useQuery({
    queryKey: ["fix-versions", selection],
    queryFn: ({ signal }) => get<FixProgramList>(`selections/${selection}/programs`, undefined, signal),
    enabled,
  });
}

export function useFixTemplates(enabled: boolean) {
  return useQuery({
    queryKey: ["fix-templates"],
    queryFn: ({ signal }) => get<FixProgramList>("fix-templates", undefined, signal),
    enabled,
  });
}

export function useSaveTemplate() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: TemplateBodyRequest) => send<FixProgram>("POST", "fix-templates", body),
    onSuccess: () => client.invalidateQueries({ queryKey: ["fix-templates"] }),
  });
}

export function useDeleteTemplate() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: number) => send<void>("DELETE", `fix-templates/${id}`),
    onSuccess: () => client.invalidateQueries({ queryKey: ["fix-templates"] }),
  });
}

export function useStartBulkFix() {
  return useMutation({
    mutationFn: ({ body, key }: { body: BulkBody & { replace: boolean; name: string }; key: string }) =>
      send<BulkFix>("POST", "bulk-fixes", body, key),
  });
}

export function useBulkFix(id: string) {
  return useQuery({
    queryKey: ["bulk-fix", id],
    queryFn: ({ signal }) => get<BulkFix>(`bulk-fixes/${id}`, undefined, signal),
    enabled: id !== "",
    refetchInterval: ({ state }) => (state.data && UNFINISHED.has(state.data.status) ? 1_000 : false),
  });
}

/** All bulk fixes, the latest first, page by page. */
export function useBulkFixes(mine: boolean) {
  return useInfiniteQuery({
    queryKey: ["bulk-fixes", mine],
    queryFn: ({ pageParam, signal }) => {
      const params = new URLSearchParams();
      if (mine) params.set("mine", "true");
      if (pageParam) params.set("cursor", pageParam);
      return get<BulkFixList>("bulk-fixes", params, signal);
    },
    initialPageParam: "",
    getNextPageParam: ({ next }) => next,
    refetchInterval: ({ state }) =>
      state.data?.pages.some((page) => page.results.some((one) => UNFINISHED.has(one.status))) ? 2_000 : false,
  });
}

/** One's own drafts: of a selection's records, or those that were written by hand. */
export function useOwnDrafts(of: { selection: number } | "by_hand") {
  const params = new URLSearchParams(of === "by_hand" ? { by_hand: "true" } : { selection: String(of.selection) });
  return useQuery({
    queryKey: ["fixes", params.toString()],
    queryFn: ({ signal }) => get<FixList>("fixes", params, signal),
  });
}

export function useBulkAct(id: number) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (act: "cancel" | "undo") => send<BulkFix>("POST", `bulk-fixes/${id}/${act}`, {}),
    onSuccess: (next) => {
      client.setQueryData(["bulk-fix", String(id)], next);
      return Promise.all([["fixes"], ["bulk-fixes"]].map((queryKey) => client.invalidateQueries({ queryKey })));
    },
  });
}

export function useRenameBulkFix(id: number) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (name: string) => send<BulkFix>("PATCH", `bulk-fixes/${id}`, { name }),
    onSuccess: (next) => {
      client.setQueryData(["bulk-fix", String(id)], next);
      return client.invalidateQueries({ queryKey: ["bulk-fixes"] });
    },
  });
}

/** Discards many drafts; asks again while the server says that some are left. */
export function useDiscardDrafts() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async (of: DraftsOf) => {
      let found: DiscardedDrafts;
      do found = await send<DiscardedDrafts>("POST", "fixes/discard", of);
      while (found.left > 0 && found.discarded > 0);
      return found;
    },
    onSettled: () =>
      Promise.all(
        [["fixes"], ["fix"], ["bulk-fixes"], ["bulk-fix"]].map((queryKey) => client.invalidateQueries({ queryKey })),
      ),
  });
}

/** Freezes the records that it changed. */
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
