import { useMutation, useQuery } from "@tanstack/react-query";
import { get, send } from "./client";
import type { Behind } from "./types";

export interface Certificate {
  subject: string;
  issuer: string;
  expires: string;
}

/** A cluster and how clients connect to it; secrets are never sent. */
export interface Cluster {
  name: string;
  own: boolean;
  environment: string | null;
  read_only: boolean | null;
  bootstrap_servers: string[];
  security_protocol: string;
  sasl: { mechanism: string; username: string | null } | null;
  /** `ca` null: the authorities that the system trusts. */
  tls: { ca: string | null; checks_host_name: boolean; certificate: Certificate | null } | null;
  /** By whom an authoriser takes the dashboard. */
  principal: string;
  trouble: string;
}

/** How far the index has read a topic, in offsets; `rate` is per second, null until it was looked at twice. */
export interface TopicProgress {
  topic: string;
  partitions: number;
  read: number;
  of: number;
  records_behind: number;
  seconds_behind: number;
  rate: number | null;
  eta_s: number | null;
}

export interface IndexProgress {
  reachable: boolean;
  /** Names or regular expressions of the topics that are followed. */
  patterns: string[];
  start: "earliest";
  topics: TopicProgress[];
  /** Topics that are called as dead letter topics are, and are not followed. */
  lookalikes: string[];
  text: Behind;
}

export interface ClusterList {
  results: Cluster[];
  index: IndexProgress;
}

export interface Permission {
  operations: string[];
  resource: "cluster" | "topic" | "group" | "transactional-id";
  name: string;
  prefixed: boolean;
  why: string;
  verdict: "ok" | "missing" | "not_checked";
  missing: string[];
  note: string;
  command: string;
}

/** How a connection went; `detail` is in the client's own words. */
export interface Trial {
  reached: boolean;
  kind: string;
  verdict: string;
  detail: string;
  took_ms: number;
  brokers: { id: number; address: string }[];
  topics: number;
  dead_letter_topics: string[];
  principal: string;
  permissions: Permission[];
}

const EVERY_MS = 5_000;

export function useClusters(wanted = true) {
  return useQuery({
    queryKey: ["clusters"],
    enabled: wanted,
    queryFn: ({ signal }) => get<ClusterList>("clusters", undefined, signal),
    refetchInterval: EVERY_MS,
  });
}

export function useTestCluster() {
  return useMutation({
    mutationFn: (name: string) => send<Trial>("POST", `clusters/${encodeURIComponent(name)}/test`),
  });
}
