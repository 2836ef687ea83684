import { useQuery } from "@tanstack/react-query";
import { followed } from "../lib/streaming";
import { get } from "./client";
import { useMayAct, useMayWrite, type Permission } from "./session";
import type { Health } from "./types";

export const HEALTH = ["health"] as const;
/** A server that takes longer counts as away. Its own limits for Kafka, the engine and Redis are shorter. */
const TIMEOUT_MS = 10_000;

export function useHealth() {
  return useQuery({
    queryKey: HEALTH,
    queryFn: ({ signal }) =>
      get<Health>("health", undefined, AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])),
    ...followed(5_000),
  });
}

/** Return whether the user can choose records and send them now, and the reason if not. */
export function useMaySend(): Permission {
  return useWhileKafkaResponds(useMayWrite());
}

/** Return whether the user can check a plan or resume a replay now, and the reason if not. It works in each window. */
export function useMayUseKafka(): Permission {
  return useWhileKafkaResponds(useMayAct());
}

function useWhileKafkaResponds(may: Permission): Permission {
  const { data } = useHealth();
  if (may.allowed && data?.broker?.reachable === false) return { allowed: false, reason: "Kafka does not respond" };
  return may;
}
