/** Figures over time. */

export interface Series {
  key: string;
  label?: string;
  stage?: string | null;
  total: number;
  points: number[];
}

export interface ErrorSeries extends Series {
  /** How many series it puts together; 0 where it is one. */
  others: number;
}

/** Errors over time; `week_before` is null where columns are narrower than an hour. */
export interface Errors extends TimeSeries {
  series: ErrorSeries[];
  week_before: { total: number; points: number[] } | null;
}

export interface Heat {
  from: string;
  to: string;
  bucket_ms: number;
  topics: number;
  rows: { topic: string; total: number; week_before: number; points: number[] }[];
  exact: boolean;
}

export interface TimeSeries {
  from: string;
  to: string;
  bucket_ms: number;
  series: Series[];
  exact: boolean;
  total?: number;
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
  /** At least `count` where it is not exact. */
  failing_topics: { count: number; exact: boolean; watched: number; names: string[] };
  unresolved_groups: { count: number; new: number; regressed: number };
  errors_24h: { count: number; mean_before: number | null; change_percent: number | null; days: number[] };
  replays: {
    started: number;
    failing: number;
    newest: { id: number; name: string; sent: number; passed: number; failed_again: number } | null;
  };
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
