import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
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

/** Load all clusters, and the index of one of them; "" is the own one. */
export function useClusters(wanted = true, indexOf = "") {
  return useQuery({
    queryKey: ["clusters", indexOf],
    enabled: wanted,
    queryFn: ({ signal }) =>
      get<ClusterList>("clusters", indexOf ? new URLSearchParams({ cluster: indexOf }) : undefined, signal),
    placeholderData: keepPreviousData,
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

/** Add a topic of a cluster to the index, exclude it, or leave it to the cluster's settings again. */
export function useTopicRule(cluster: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ topic, rule, reason }: { topic: string; rule: TopicDecision; reason: string }) =>
      send<IndexProgress>(
        "PUT",
        `index/topics/${encodeURIComponent(topic)}?${new URLSearchParams({ cluster }).toString()}`,
        { rule, reason },
      ),
    onSuccess: (index) => {
      client.setQueriesData<ClusterList>({ queryKey: ["clusters"] }, (before) =>
        before?.index.cluster === index.cluster ? { ...before, index } : before,
      );
      return client.invalidateQueries({ queryKey: ["clusters"] });
    },
  });
}
