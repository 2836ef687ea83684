import { useMutation, useQuery } from "@tanstack/react-query";
import { followed } from "../lib/streaming";
import { get, send } from "./client";
import type { ClusterList, ConnectionTestAnswer as ConnectionTest } from "./schema";

export type {
  CertificateDocument as Certificate,
  ClusterDocument as Cluster,
  TopicProgress,
  IndexProgress,
  ClusterList,
  RequiredPermission as Permission,
  ConnectionTestAnswer as ConnectionTest,
} from "./schema";

const POLL_MS = 5_000;

export function useClusters(wanted = true) {
  return useQuery({
    queryKey: ["clusters"],
    enabled: wanted,
    queryFn: ({ signal }) => get<ClusterList>("clusters", undefined, signal),
    ...followed(POLL_MS),
  });
}

export function useTestCluster() {
  return useMutation({
    mutationFn: (name: string) => send<ConnectionTest>("POST", `clusters/${encodeURIComponent(name)}/test`),
  });
}
