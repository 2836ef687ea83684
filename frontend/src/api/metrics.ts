import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { get } from "./client";
import type { Attention, Balance, StageFlow, Summary, TimeSeries } from "./types";

export type StackBy = "exception" | "group" | "stage" | "topic";

const EVERY_MS = 10_000;

export function useBalance() {
  return useQuery({ queryKey: ["balance"], queryFn: ({ signal }) => get<Balance>("metrics/balance", undefined, signal), refetchInterval: EVERY_MS });
}

export function useErrorSeries(from: string, by: StackBy) {
  return useQuery({
    queryKey: ["errors", from, by],
    queryFn: ({ signal }) => get<TimeSeries>("metrics/errors", new URLSearchParams({ from, to: "now", by }), signal),
    placeholderData: keepPreviousData,
    refetchInterval: EVERY_MS,
  });
}

export function useSummary(from: string) {
  return useQuery({
    queryKey: ["summary", from],
    queryFn: ({ signal }) => get<Summary>("metrics/summary", new URLSearchParams({ from, to: "now" }), signal),
    placeholderData: keepPreviousData,
    refetchInterval: EVERY_MS,
  });
}

export function useAttention() {
  return useQuery({ queryKey: ["attention"], queryFn: ({ signal }) => get<Attention>("metrics/attention", undefined, signal), refetchInterval: EVERY_MS });
}

export function useStageFlow(connector: string | undefined) {
  return useQuery({
    queryKey: ["stage-flow", connector],
    queryFn: ({ signal }) => get<StageFlow>("metrics/stages", new URLSearchParams({ connector: connector ?? "" }), signal),
    enabled: connector !== undefined,
    placeholderData: keepPreviousData,
    refetchInterval: EVERY_MS,
  });
}
