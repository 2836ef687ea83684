import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { followed } from "../lib/streaming";
import { get, send } from "./client";
import type {
  ClusterBodyRequest as ClusterBody,
  ClusterList,
  ConnectionTestAnswer as ConnectionTest,
  IndexProgress,
} from "./schema";
import { SESSION } from "./session";

export type {
  ClusterBodyRequest as ClusterBody,
  CertificateDocument as Certificate,
  ClusterDocument as Cluster,
  TopicProgress,
  TopicRuleDocument as TopicRule,
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

/** Test the connection to a cluster, with settings that are not saved yet if there is a body. */
export function useTestCluster() {
  return useMutation({
    mutationFn: ({ name, body }: { name: string; body?: ClusterBody }) =>
      send<ConnectionTest>("POST", `clusters/${encodeURIComponent(name)}/test`, body),
  });
}

/** Add or change a cluster; without a body, remove its settings. */
export function useChangeCluster() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ name, body }: { name: string; body: ClusterBody | null }) =>
      send<unknown>(body ? "PUT" : "DELETE", `clusters/${encodeURIComponent(name)}`, body ?? undefined),
    onSuccess: () =>
      Promise.all([
        client.invalidateQueries({ queryKey: ["clusters"] }),
        client.invalidateQueries({ queryKey: SESSION }),
      ]),
  });
}

export type TopicDecision = "added" | "excluded" | "default";

/** Add a topic to the index, exclude it, or leave it to DLQ_TOPICS again. */
export function useTopicRule() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ topic, rule, reason }: { topic: string; rule: TopicDecision; reason: string }) =>
      send<IndexProgress>("PUT", `index/topics/${encodeURIComponent(topic)}`, { rule, reason }),
    onSuccess: (index) => {
      client.setQueryData<ClusterList>(["clusters"], (before) => before && { ...before, index });
      return client.invalidateQueries({ queryKey: ["clusters"] });
    },
  });
}
