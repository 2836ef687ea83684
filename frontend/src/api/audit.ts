import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { API, get } from "./client";
import type { AuditOptions, AuditPage } from "./schema";

export type { AuditDocument as AuditEntry, AuditOptions } from "./schema";

/** Load the entries that match a query string, newest first. */
export function useAudit(query: string) {
  return useInfiniteQuery({
    queryKey: ["audit", query],
    queryFn: ({ pageParam, signal }) => {
      const params = new URLSearchParams(query);
      if (pageParam) params.set("cursor", pageParam);
      return get<AuditPage>("audit", params, signal);
    },
    initialPageParam: "",
    getNextPageParam: (last) => last.next ?? undefined,
    placeholderData: keepPreviousData,
  });
}

/** Load the actors, actions and types of objects that the trail contains. */
export function useAuditOptions() {
  return useQuery({
    queryKey: ["audit-options"],
    queryFn: ({ signal }) => get<AuditOptions>("audit/options", undefined, signal),
    staleTime: 60_000,
  });
}

/** Return the URL of a file of all entries that match a query string. */
export function auditExportUrl(query: string, format: "ndjson" | "csv"): string {
  const params = new URLSearchParams(query);
  params.set("format", format);
  return `${API}/audit/export?${params}`;
}
