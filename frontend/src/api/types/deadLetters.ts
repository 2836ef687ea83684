/** Dead letters: rows, pages, facets, and one of them in full. */
import type { Group } from "./groups";

export interface GroupRef {
  id: number;
  title: string;
}

export interface DeadLetterRow {
  id: number;
  failed_at: string;
  topic: string;
  partition: number;
  offset: number;
  origin_topic: string | null;
  origin_partition: number | null;
  origin_offset: number | null;
  key_text: string | null;
  /** The reader may not see content, so the key is left out. */
  withheld: boolean;
  stage: string | null;
  exception_class: string | null;
  exception_full: string | null;
  message: string | null;
  connector: string | null;
  task_id: string | number | null;
  group: GroupRef | null;
  replay_state: string;
  readable: boolean;
  value_size: number | null;
}

export interface DeadLetterPage {
  results: DeadLetterRow[];
  next: string | null;
  total: { count: number; exact: boolean };
  took_ms: number;
  ran_at: string;
  from: string | null;
  to: string | null;
  partial: boolean;
  /** How many records' bytes were looked into, where the query needs it. */
  searched: number | null;
  /** How many records no word finds yet, where words are searched. */
  text_behind: number | null;
}

export interface FacetValue {
  value: string | number | null;
  label: string;
  count: number;
}

export interface Facets {
  facets: Record<string, FacetValue[]>;
  exact: boolean;
  of: number | null;
  partial: boolean;
  took_ms: number;
}

export interface ParseError {
  byte: number;
  line: number;
  column: number;
  message: string;
}

export interface Payload {
  size: number | null;
  is_null: boolean;
  text: string | null;
  base64: string | null;
  shown: number;
  json: boolean;
  parse_error: ParseError | null;
  withheld: boolean;
}

export interface StageView {
  index: number;
  type: string;
  class: string | null;
  config: Record<string, unknown> | null;
  state: "passed" | "failed" | "not_reached";
}

export interface Frame {
  file: string;
  line: number | null;
  function: string;
  application: boolean;
}

export interface ExceptionView {
  class: string | null;
  message: string | null;
  text: string | null;
  chain: { class: string; message: string; frames: Frame[] }[];
}

export interface Header {
  name: string;
  size: number | null;
  text: string | null;
  base64: string | null;
  is_null: boolean;
  withheld: boolean;
}

export interface NamedText {
  name: string;
  value: string;
}

export interface DeadLetter extends Omit<DeadLetterRow, "group"> {
  group: (GroupRef & Partial<Group>) | null;
  cluster: string;
  origin_timestamp: string | null;
  indexed_at: string;
  first_failure_at: string | null;
  elapsed_ms: number | null;
  attempt: number | null;
  original: "embedded" | "fetched" | "expired" | "unknown" | "forbidden";
  /** Why the original was not fetched, where its topic may not be read for this dead letter. */
  not_allowed: string | null;
  source: {
    partition: NamedText[];
    offset: NamedText[];
    schema: string;
    value: string | null;
    withheld: boolean;
  } | null;
  dialect: {
    name: string;
    version: string | number | null;
    notes: { field: string; read_from: string }[];
    problems: string[];
  };
  stages: StageView[];
  exception: ExceptionView | null;
  key: Payload;
  value: Payload;
  context: Payload;
  headers: Header[];
  timeline: { at: string; kind: string; text: string }[];
  neighbours: { previous: number | null; next: number | null };
  truncated: string | null;
}

export interface Neighbour {
  id: number | null;
  offset: number;
  key_text: string | null;
  /** The reader may not see content, so the key is left out. */
  withheld: boolean;
  at: string | null;
  state: "failed" | "passed" | "unknown";
  label: string;
  this: boolean;
}

export interface Neighbours {
  results: Neighbour[];
  last_good: unknown;
  /** Why the origin topic is not read for this dead letter; null where it is. */
  not_allowed: string | null;
}
