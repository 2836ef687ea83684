import { useInfiniteQuery } from "@tanstack/react-query";
import { get } from "./client";
import type { AuditPage } from "./types";

export function useAudit() {
  return useInfiniteQuery({
    queryKey: ["audit"],
    queryFn: ({ pageParam, signal }) =>
      get<AuditPage>("audit", pageParam ? new URLSearchParams({ cursor: pageParam }) : undefined, signal),
    initialPageParam: "",
    getNextPageParam: (last) => last.next ?? undefined,
  });
}
