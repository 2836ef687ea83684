import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { API, get, send } from "./client";
import { useMayNotRead, useSession } from "./session";
import type { ExportDocument as Export, ExportPage } from "./schema";

export type { ExportDocument as Export } from "./schema";

export type Format = Export["format"];

const KEY = ["exports"];
const ACTIVE_POLL_MS = 1_000;
const IDLE_POLL_MS = 15_000;

/** Load exports, newest first; poll every second while one is unfinished. */
export function useExports() {
  return useInfiniteQuery({
    queryKey: KEY,
    queryFn: ({ pageParam, signal }) =>
      get<ExportPage>("exports", pageParam ? new URLSearchParams({ cursor: pageParam }) : undefined, signal),
    initialPageParam: "",
    getNextPageParam: (last) => last.next ?? undefined,
    refetchInterval: (query) =>
      query.state.data?.pages.some((page) => page.results.some(isUnfinished)) ? ACTIVE_POLL_MS : IDLE_POLL_MS,
  });
}

export function useExport() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ format, filter, key }: { format: Format; filter: string; key: string }) =>
      send<Export>("POST", "exports", { format, filter }, key),
    onSuccess: () => client.invalidateQueries({ queryKey: KEY }),
  });
}

/** Cancel an unfinished export, or delete the file of a finished one. */
export function useEndExport() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (one: Export) =>
      isUnfinished(one)
        ? send<Export>("POST", `exports/${one.id}/cancel`)
        : send<Export>("DELETE", `exports/${one.id}`),
    onSettled: () => client.invalidateQueries({ queryKey: KEY }),
  });
}

/** Return the reason why the user cannot export. A read-only cluster allows exports. */
export function useMayNotExport(): string | undefined {
  const { data } = useSession();
  const unread = useMayNotRead();
  return data?.role === "operator" ? unread : "Needs the role operator";
}

export function isUnfinished(one: Export): boolean {
  return one.state === "queued" || one.state === "running";
}

/** Return the URL of an export that the server streams during the download. */
export function streamUrl(format: Format, query: string): string {
  const params = new URLSearchParams(query);
  params.set("format", format);
  return `${API}/dead-letters/export?${params}`;
}

export function fileUrl(one: Export): string {
  return `${API}/exports/${one.id}/file`;
}

export function manifestUrl(one: Export): string {
  return `${API}/exports/${one.id}/manifest`;
}
