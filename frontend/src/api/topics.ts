import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { followed } from "../lib/streaming";
import { API, get } from "./client";
import type { TopicDetail, TopicList, TopicRates, TopicRecordDetail, TopicRecords } from "./types";

const POLL_MS = 60_000;

/** Load the topics whose name contains the text. In all of these functions, cluster "" is the own one. */
export function useTopics(text: string, cluster: string) {
  return useQuery({
    queryKey: ["topics", text, cluster],
    queryFn: ({ signal }) => get<TopicList>("topics", on(cluster, text ? { text } : {}), signal),
    placeholderData: keepPreviousData,
    ...followed(POLL_MS),
  });
}

export function useTopic(name: string, cluster: string) {
  return useQuery({
    queryKey: ["topic", name, cluster],
    queryFn: ({ signal }) => get<TopicDetail>(`topics/${encodeURIComponent(name)}`, on(cluster), signal),
    ...followed(POLL_MS),
  });
}

export function useTopicRates(name: string, cluster: string, from: string, to: string) {
  return useQuery({
    queryKey: ["topic-rates", name, cluster, from, to],
    queryFn: ({ signal }) =>
      get<TopicRates>(`topics/${encodeURIComponent(name)}/rates`, on(cluster, { from, to }), signal),
    placeholderData: keepPreviousData,
    ...followed(POLL_MS),
  });
}

/** Read records of a topic once. Each read is audited, so the screen does not repeat it by itself. */
export function useTopicRecords(name: string, cluster: string, query: string) {
  return useQuery({
    queryKey: ["topic-records", name, cluster, query],
    queryFn: ({ signal }) =>
      get<TopicRecords>(
        `topics/${encodeURIComponent(name)}/records`,
        on(cluster, Object.fromEntries(new URLSearchParams(query))),
        signal,
      ),
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    retry: false,
  });
}

export function useTopicRecord(name: string, cluster: string, partition: number, offset: number) {
  return useQuery({
    queryKey: ["topic-record", name, cluster, partition, offset],
    queryFn: ({ signal }) => get<TopicRecordDetail>(recordPath(name, partition, offset), on(cluster), signal),
    staleTime: Infinity,
    retry: false,
  });
}

export function topicBytesUrl(
  name: string,
  cluster: string,
  partition: number,
  offset: number,
  part: "key" | "value",
): string {
  return `${API}/${recordPath(name, partition, offset)}/bytes?${on(cluster, { part })}`;
}

function on(cluster: string, more: Record<string, string> = {}): URLSearchParams {
  return new URLSearchParams(cluster ? { ...more, cluster } : more);
}

function recordPath(name: string, partition: number, offset: number): string {
  return `topics/${encodeURIComponent(name)}/partitions/${partition}/records/${offset}`;
}
