import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { followed } from "../lib/streaming";
import { get, send } from "./client";
import type {
  AnnotationList,
  Attention,
  Balance,
  ConnectorHistory,
  ConnectorList,
  Errors,
  Facets,
  Heat,
  OpenWork,
  StageFlow,
  Summary,
  Trends,
} from "./types";

export type TrendMeasure = Trends["measure"];
export type TrendSplit = Trends["by"];
export type StackBy = "exception" | "group" | "stage" | "topic";
export type WorkSplit = Exclude<StackBy, "exception">;

const POLL_MS = 10_000;
const SLOW_POLL_MS = 60_000; // columns of hours and days change slowly

export function useBalance() {
  return useQuery({
    queryKey: ["balance"],
    queryFn: ({ signal }) => get<Balance>("metrics/balance", undefined, signal),
    ...followed(POLL_MS),
  });
}

export function useErrorSeries(from: string, to: string, by: StackBy) {
  return useQuery({
    queryKey: ["errors", from, to, by],
    queryFn: ({ signal }) => get<Errors>("metrics/errors", new URLSearchParams({ from, to, by }), signal),
    placeholderData: keepPreviousData,
    ...followed(POLL_MS),
  });
}

/** Load the open work over time, by state or split by a property of the dead letters. */
export function useOpenWork(from: string, to: string, by: WorkSplit | null) {
  return useQuery({
    queryKey: ["open-work", from, to, by],
    queryFn: ({ signal }) =>
      get<OpenWork>("metrics/open-work", new URLSearchParams({ from, to, ...(by && { by }) }), signal),
    placeholderData: keepPreviousData,
    ...followed(POLL_MS),
  });
}

export function useHeat(from: string, to: string) {
  return useQuery({
    queryKey: ["heat", from, to],
    queryFn: ({ signal }) => get<Heat>("metrics/heat", new URLSearchParams({ from, to }), signal),
    placeholderData: keepPreviousData,
    ...followed(POLL_MS),
  });
}

export function useSummary(from: string, to: string) {
  return useQuery({
    queryKey: ["summary", from, to],
    queryFn: ({ signal }) => get<Summary>("metrics/summary", new URLSearchParams({ from, to }), signal),
    placeholderData: keepPreviousData,
    ...followed(POLL_MS),
  });
}

export function useAttention() {
  return useQuery({
    queryKey: ["attention"],
    queryFn: ({ signal }) => get<Attention>("metrics/attention", undefined, signal),
    ...followed(POLL_MS),
  });
}

export function useStageFlow(connector: string | undefined) {
  return useQuery({
    queryKey: ["stage-flow", connector],
    queryFn: ({ signal }) =>
      get<StageFlow>("metrics/stages", new URLSearchParams({ connector: connector ?? "" }), signal),
    enabled: connector !== undefined,
    placeholderData: keepPreviousData,
    ...followed(POLL_MS),
  });
}

export function useConnectorHistory(connector: string, from: string, to: string) {
  return useQuery({
    queryKey: ["connector-history", connector, from, to],
    queryFn: ({ signal }) =>
      get<ConnectorHistory>("metrics/connector", new URLSearchParams({ connector, from, to }), signal),
    placeholderData: keepPreviousData,
    ...followed(POLL_MS),
  });
}

/** The choice of a trend; empty filters match everything. */
export interface TrendQuery {
  measure: TrendMeasure;
  by: TrendSplit;
  from: string;
  to: string;
  topic: string;
  connector: string;
  group: string;
  stage: string;
}

/** Load a measure over a long time, and the week before. */
export function useTrends({ topic, connector, group, stage, ...query }: TrendQuery, enabled: boolean) {
  const params = new URLSearchParams({ ...query, compare: "week" });
  for (const [name, value] of Object.entries({ topic, connector, group, stage })) if (value) params.set(name, value);
  return useQuery({
    queryKey: ["trends", params.toString()],
    enabled,
    queryFn: ({ signal }) => get<Trends>("metrics/trends", params, signal),
    placeholderData: keepPreviousData,
    ...followed(SLOW_POLL_MS),
  });
}

/** Load the names that a trend can be about: those of the dead letters of 90 days, and of the present connectors. */
export function useTrendNames(enabled: boolean) {
  const query = { enabled, staleTime: SLOW_POLL_MS };
  const facets = useQuery({
    ...query,
    queryKey: ["trend-names"],
    queryFn: ({ signal }) =>
      get<Facets>("dead-letters/facets", new URLSearchParams({ from: "now-90d", to: "now" }), signal),
  });
  const connectors = useQuery({
    ...query,
    queryKey: ["trend-connectors"],
    queryFn: ({ signal }) => get<ConnectorList>("connectors", undefined, signal),
  });
  return { facets, connectors };
}

/** Delete a reported event. */
export function useDeleteAnnotation() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => send<unknown>("DELETE", `annotations/${id}`),
    onSuccess: () => client.invalidateQueries({ queryKey: ["annotations"] }),
  });
}

export function useAnnotations(from: string, to: string) {
  return useQuery({
    queryKey: ["annotations", from, to],
    queryFn: ({ signal }) => get<AnnotationList>("annotations", new URLSearchParams({ from, to }), signal),
    placeholderData: keepPreviousData,
    ...followed(SLOW_POLL_MS),
  });
}
