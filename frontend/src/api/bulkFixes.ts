import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { API, get, send, sendFile } from "./client";
import type { Bytes, LetterRef, Message, Selection } from "./replayTypes";

export type BulkKind = "jq" | "patch" | "fields";
export type BulkStatus = "previewed" | "running" | "done" | "failed" | "cancelled" | "undoing" | "undone";
/** A worker is at it: look again. */
export const UNDER_WAY: ReadonlySet<BulkStatus> = new Set(["running", "undoing"]);
export type Became = "changed" | "untouched" | "invalid";

export interface BulkBody {
  selection: number;
  kind: BulkKind;
  program: string;
}

export interface Sample {
  dead_letter: LetterRef;
  what: Became;
  why: string;
  /** JSON Pointers, and `key` or `headers`. */
  paths: string[];
  /** One has a draft of it already. */
  drafted: boolean;
  before: Message | null;
  after: Message | null;
}

export interface BulkCounts {
  matched: number;
  changed: number;
  untouched: number;
  invalid: number;
}

export interface BulkPreview {
  sample: Sample[];
  counts: BulkCounts;
  /** Or was time up before the last record? */
  counted_all: boolean;
}

export interface BulkFix {
  id: number;
  kind: BulkKind | "offline";
  program: string;
  /** The reader may not see content, so the program and the reasons are left out. */
  withheld: boolean;
  replace: boolean;
  status: BulkStatus;
  counts: BulkCounts & { kept: number };
  why: { text: string; count: number; dead_letter: number }[];
  trouble: string;
  /** How many of those that it made are still there. */
  drafts: number;
  /** Drafts that it replaced, and that come back when it is undone. */
  replaced: number;
  selection: Selection;
  author: string | null;
  created_at: string;
  done_at: string | null;
}

export interface Suggestion {
  title: string;
  why: string;
  value: Bytes;
}

/** What the program would do; nothing is kept by it. */
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
    refetchInterval: ({ state }) => (state.data && UNDER_WAY.has(state.data.status) ? 1_000 : false),
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
