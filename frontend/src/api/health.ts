import { useQuery } from "@tanstack/react-query";
import { get } from "./client";
import { useMayWrite } from "./session";
import type { Health } from "./types";

export function useHealth() {
  return useQuery({
    queryKey: ["health"],
    queryFn: ({ signal }) => get<Health>("health", undefined, signal),
    refetchInterval: 5_000,
  });
}

/** Return whether the user can write to Kafka now, and the reason if not. */
export function useMaySend(): { allowed: boolean; reason: string } {
  const may = useMayWrite();
  const { data } = useHealth();
  if (may.allowed && data?.broker?.reachable === false) return { allowed: false, reason: "Kafka does not respond" };
  return may;
}
