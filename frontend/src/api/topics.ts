import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { followed } from "../lib/streaming";
import { API, get } from "./client";
import type { TopicDetail, TopicList, TopicRates, TopicRecordDetail, TopicRecords } from "./types";

const POLL_MS = 60_000;

/** Load the topics whose name contains the text. */
export function useTopics(text: string) {
  return useQuery({
    queryKey: ["topics", text],
    queryFn: ({ signal }) => get<TopicList>("topics", new URLSearchParams(text ? { text } : {}), signal),
    placeholderData: keepPreviousData,
    ...followed(POLL_MS),
  });
}

export function useTopic(name: string) {
  return useQuery({
    queryKey: ["topic", name],
    queryFn: ({ signal }) => get<TopicDetail>(`topics/${encodeURIComponent(name)}`, undefined, signal),
    ...followed(POLL_MS),
  });
}

export function useTopicRates(name: string, from: string, to: string) {
  return useQuery({
    queryKey: ["topic-rates", name, from, to],
    queryFn: ({ signal }) =>
      get<TopicRates>(`topics/${encodeURIComponent(name)}/rates`, new URLSearchParams({ from, to }), signal),
    placeholderData: keepPreviousData,
    ...followed(POLL_MS),
  });
}

/** Read records of a topic once. Each read is audited, so the screen does not repeat it by itself. */
export function useTopicRecords(name: string, query: string, wanted: boolean) {
  return useQuery({
    queryKey: ["topic-records", name, query],
    enabled: wanted,
    queryFn: ({ signal }) =>
      get<TopicRecords>(`topics/${encodeURIComponent(name)}/records`, new URLSearchParams(query), signal),
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    retry: false,
  });
}

export function useTopicRecord(name: string, partition: number, offset: number) {
  return useQuery({
    queryKey: ["topic-record", name, partition, offset],
    queryFn: ({ signal }) => get<TopicRecordDetail>(recordPath(name, partition, offset), undefined, signal),
    staleTime: Infinity,
    retry: false,
  });
}

export function topicBytesUrl(name: string, partition: number, offset: number, part: "key" | "value"): string {
  return `${API}/${recordPath(name, partition, offset)}/bytes?part=${part}`;
}

function recordPath(name: string, partition: number, offset: number): string {
  return `topics/${encodeURIComponent(name)}/partitions/${partition}/records/${offset}`;
}
