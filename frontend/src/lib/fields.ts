/**
 * The fields by which dead letters are filtered. Generated from the server's table of fields by
 * `python -m demo.screen_fields`; do not edit.
 */
export interface FieldRow {
  /** The name in addresses and facets. */
  name: Field;
  /** The name in the query language. */
  term: string;
  label: string;
  kind: "name" | "exact" | "text" | "choice" | "id" | "number";
  /** The position among the facets. */
  facet?: number;
  /** The words of the query language for values of the field, where they differ. */
  words?: Readonly<Record<string, string>>;
}

export type Field =
  | "topic"
  | "connector"
  | "stage"
  | "exception"
  | "group"
  | "key"
  | "message"
  | "partition"
  | "offset"
  | "origin_topic"
  | "origin_partition"
  | "origin_offset"
  | "replay_state"
  | "replay_id"
  | "work"
  | "readable"
  | "dialect"
  | "consumer_group"
  | "cluster";

export const FIELDS: readonly FieldRow[] = [
  { name: "topic", term: "topic", label: "Topic", kind: "name", facet: 5 },
  { name: "connector", term: "connector", label: "Connector", kind: "name", facet: 4 },
  { name: "stage", term: "stage", label: "Stage", kind: "name", facet: 1 },
  { name: "exception", term: "exception", label: "Exception", kind: "name", facet: 2 },
  { name: "group", term: "group", label: "Group", kind: "id", facet: 3 },
  { name: "key", term: "key", label: "Key", kind: "text" },
  { name: "message", term: "message", label: "Message", kind: "text" },
  { name: "partition", term: "dlq_partition", label: "Dead letter partition", kind: "number" },
  { name: "offset", term: "dlq_offset", label: "Dead letter offset", kind: "number" },
  { name: "origin_topic", term: "origin_topic", label: "Origin topic", kind: "name" },
  { name: "origin_partition", term: "partition", label: "Origin partition", kind: "number", facet: 6 },
  { name: "origin_offset", term: "offset", label: "Origin offset", kind: "number" },
  { name: "replay_state", term: "replay", label: "Replay state", kind: "choice", facet: 7 },
  { name: "replay_id", term: "replay_id", label: "Sent by replay", kind: "exact" },
  { name: "work", term: "work", label: "Work", kind: "choice", facet: 8 },
  { name: "readable", term: "is", label: "Readable", kind: "choice", words: { true: "readable", false: "unreadable" } },
  { name: "dialect", term: "dialect", label: "Dialect", kind: "exact" },
  { name: "consumer_group", term: "consumer_group", label: "Consumer group", kind: "exact" },
  { name: "cluster", term: "cluster", label: "Cluster", kind: "name", facet: 9 },
];
