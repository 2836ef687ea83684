/** Connectors of the engine and their tasks. */

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

export type Risk =
  "failed" | "exhausted" | "near" | "within" | "fail_fast" | "unused" | "unlimited" | "handler" | "unknown";

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
  /** Why the engine refused the dashboard, and which setting to change; null where it is only away. */
  trouble: string | null;
  nearest: NearTask[];
  results: Connector[];
}
