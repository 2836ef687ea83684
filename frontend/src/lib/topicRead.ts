/** The read of a topic's records in the address of the screen, and in words. */
import { bytes, count, plural, took } from "./format";

export const STARTS = ["newest", "oldest", "offset", "time"] as const;
export type Start = (typeof STARTS)[number];

/** The fields of the form. `partition` is empty for all partitions; `at` is a bound of a time range. */
export interface TopicRead {
  partition: string;
  start: Start;
  offset: string;
  at: string;
  key: string;
}

const PARAMETERS = ["partition", "start", "offset", "at", "after", "before", "key"];

export function readTopicRead(params: URLSearchParams): TopicRead {
  const offset = params.get("offset") ?? "";
  const at = params.get("at") ?? "";
  const start = offset ? "offset" : at ? "time" : params.get("start") === "oldest" ? "oldest" : "newest";
  return { partition: params.get("partition") ?? "", start, offset, at, key: params.get("key") ?? "" };
}

/** Return the address of a read. Other parts of the address, such as the time range of the charts, stay. */
export function writeTopicRead(params: URLSearchParams, read: TopicRead): URLSearchParams {
  const next = withoutRead(params);
  if (read.partition) next.set("partition", read.partition);
  if (read.start === "oldest") next.set("start", "oldest");
  if (read.start === "offset") next.set("offset", read.offset);
  if (read.start === "time") next.set("at", read.at);
  if (read.key) next.set("key", read.key);
  return next;
}

/** Return the address of the records after or before this page. */
export function continueTopicRead(params: URLSearchParams, to: "after" | "before", positions: string): URLSearchParams {
  const next = withoutRead(params);
  for (const name of ["partition", "key"]) {
    const value = params.get(name);
    if (value !== null) next.set(name, value);
  }
  next.set(to, positions);
  return next;
}

/** Return the query of the API. */
export function topicReadQuery(params: URLSearchParams): string {
  return new URLSearchParams([...params].filter(([name]) => PARAMETERS.includes(name))).toString();
}

/** Return the problem of a form that cannot be sent. */
export function topicReadFault(read: TopicRead): string | undefined {
  if (read.start === "offset" && !/^\d{1,19}$/.test(read.offset)) return "Type an offset: a whole number";
  if (read.start === "offset" && read.partition === "") return "Choose the partition of the offset";
  if (read.start === "time" && !read.at) return "Choose a time";
  return undefined;
}

/** "Read 50 records, 12.3 kB, in 31 ms. Stopped because the page is full." */
export function readSummary(
  page: { read: number; read_bytes: number; took_ms: number; stopped: string },
  isBefore: boolean,
): string {
  const done = `Read ${plural(page.read, "record")}, ${bytes(page.read_bytes)}, in ${took(page.took_ms)}.`;
  return `${done} Stopped ${reason(page, isBefore)}.`;
}

function reason(
  { read, read_bytes, stopped }: { read: number; read_bytes: number; stopped: string },
  isBefore: boolean,
) {
  if (stopped === "found") return "because the page is full";
  if (stopped === "records") return `because one request reads at most ${count(read)} records`;
  if (stopped === "bytes") return `because one request reads about ${bytes(read_bytes)} at most`;
  if (stopped === "time") return "because the time for one request is over";
  return isBefore ? "where the newer page begins" : "at the end of the topic";
}

function withoutRead(params: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...params].filter(([name]) => !PARAMETERS.includes(name) && name !== "record"));
}

/** The screen of a topic, at a record if its offset is known. Without a cluster it is on the own one. */
export function topicAddress(
  topic: string,
  partition: number | null = null,
  offset: number | null = null,
  cluster?: string,
): string {
  const params = new URLSearchParams(cluster ? { cluster } : {});
  if (partition !== null && offset !== null) {
    params.set("partition", String(partition));
    params.set("offset", String(offset));
  }
  const query = params.toString();
  return `/topics/${encodeURIComponent(topic)}${query && `?${query}`}`;
}
