import { useQuery } from "@tanstack/react-query";
import { followed } from "../lib/streaming";
import { get } from "./client";
import { useMayWrite } from "./session";
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

/** Return whether the user can write to Kafka now, and the reason if not. */
export function useMaySend(): { allowed: boolean; reason: string } {
  const may = useMayWrite();
  const { data } = useHealth();
  if (may.allowed && data?.broker?.reachable === false) return { allowed: false, reason: "Kafka does not respond" };
  return may;
}
