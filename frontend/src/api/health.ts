import { useQuery } from "@tanstack/react-query";
import { get } from "./client";
import type { Health } from "./types";

export function useHealth() {
  return useQuery({ queryKey: ["health"], queryFn: ({ signal }) => get<Health>("health", undefined, signal), refetchInterval: 5_000 });
}
