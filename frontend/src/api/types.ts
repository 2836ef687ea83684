/** What the REST API under /api/v1 sends; times are ISO 8601 in UTC. */

export interface Session {
  authenticated: boolean;
  username: string | null;
  role: "viewer" | "operator" | null;
  environment: string;
  cluster: string;
  read_only: boolean;
  kafka: string | null;
}

export interface Problem {
  type?: string;
  title: string;
  status: number;
  detail?: string;
  instance?: string;
  errors?: unknown[];
}

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
  took_ms: number;
}

export interface Series {
  key: string;
  label?: string;
  stage?: string | null;
  total: number;
  points: number[];
}

export interface TimeSeries {
  from: string;
  to: string;
  bucket_ms: number;
  series: Series[];
  exact: boolean;
  total?: number;
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
  original: "embedded" | "fetched" | "expired" | "unknown";
  source: { partition: NamedText[]; offset: NamedText[]; schema: string; value: string | null } | null;
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
  at: string | null;
  state: "failed" | "passed" | "unknown";
  label: string;
  this: boolean;
}

export interface Neighbours {
  results: Neighbour[];
  last_good: unknown;
}

export type GroupState = "new" | "ongoing" | "regressed" | "escalating" | "resolved" | "muted";

export interface Group {
  id: number;
  title: string;
  exception_class: string | null;
  stage: string | null;
  message: string;
  state: GroupState;
  events: number;
  events_24h: number;
  now: number;
  keys: number;
  first_seen: string;
  last_seen: string;
  owner: string | null;
  connectors: string[];
  topics: string[];
  sparkline: { from: string; bucket_ms: number; points: number[] } | null;
}

export interface GroupPage {
  results: Group[];
  next: string | null;
  counts: Record<string, number>;
  total_records: number;
  took_ms: number;
  exact: boolean;
}

export interface GroupDetail extends Group {
  why: {
    exception_class: string | null;
    stage: string | null;
    message: string;
    holes: { name: string; example: string }[];
    frame: string | null;
    fingerprint: string;
  };
  shared: { field: string; values: { value: string | number | null; count: number }[] }[];
  activity: { at: string; actor: string | null; text: string; kind?: string }[];
  sample_ids: number[];
}

export interface BalanceFigures {
  consumed: number;
  delivered: number;
  dead_lettered: number;
  skipped: number;
  filtered: number;
  balanced: boolean;
}

export interface Balance extends BalanceFigures {
  as_of: string | null;
  connectors: (BalanceFigures & { name: string })[];
}

export interface Summary {
  failing_topics: { count: number; watched: number; names: string[] };
  unresolved_groups: { count: number; new: number; regressed: number };
  errors_24h: { count: number; mean_before: number | null; change_percent: number | null; days: number[] };
  total: number;
}

export interface AttentionItem {
  kind: string;
  title: string;
  text: string;
  at: string | null;
  href: string | null;
}

export interface Attention {
  items: AttentionItem[];
  ok: string;
}

export interface StageFlow {
  connector: string | null;
  stages: { index: number; type: string; class: string | null; in: number; failed: number }[];
  total_failed: number;
}

export interface Tolerance {
  limit?: number;
  used?: number;
  rate_limit?: number;
  rate_used?: number;
}

/** One limit of the errors a task may make; -1 is none, and then `left` is null. */
export interface Limit {
  limit: number;
  used: number;
  left: number | null;
}

export type Risk = "failed" | "exhausted" | "near" | "within" | "fail_fast" | "unused" | "unlimited" | "handler" | "unknown";

/** How near a task is to failing; `rate` counts errors within the last `window_ms`, `handlers` decide in place of limits about their part. */
export interface Nearness {
  risk: Risk;
  left: number | null;
  total: Limit | null;
  rate: Limit | null;
  window_ms: number;
  decided_by: "limits" | "handlers";
  handlers: Record<string, string>;
  errors_per_hour: number | null;
  empty_in_ms: number | null;
}

export interface NearTask extends Nearness {
  connector: string;
  task: number;
}

export interface StageCounts {
  index: number;
  type: string;
  class: string;
  name: string;
  failed: number;
  dropped: number;
}

export interface Task {
  id: number;
  state: string;
  trace: string | null;
  lag: number | null;
  metrics: Record<string, number>;
  stages: StageCounts[];
  tolerance: Tolerance | null;
  budget: Nearness;
  dropped_rate: number | null;
  worker_id: string | null;
  parked_until: string | null;
  parked_reason: string | null;
}

export interface Connector {
  name: string;
  type: string;
  kind: string;
  state: string;
  worker_id: string | null;
  topics: string[];
  dlq_topic: string | null;
  delivery: string | null;
  dead_letters: string | null;
  config: Record<string, string>;
  tasks: Task[];
  metrics: Record<string, number>;
  lag: number | null;
  stages: StageCounts[];
  last_error_at: string | null;
}

export interface ConnectorList {
  reachable: boolean;
  as_of: string | null;
  nearest: NearTask[];
  results: Connector[];
}

export interface Health {
  status: "ok" | "degraded";
  index: { records_behind: number | null; seconds_behind: number | null; topics: unknown[] };
  broker: { reachable: boolean; brokers: number | null };
  engine: { reachable: boolean; workers: number | null };
  redis: { reachable: boolean };
  database: { vendor: string };
}

export interface AuditPage {
  results: {
    id: string | number;
    at: string;
    actor: string;
    action: string;
    object: string;
    detail: unknown;
    digest: string | null;
  }[];
  next: string | null;
}
