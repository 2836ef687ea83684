import type { Disposal } from "./disposals";
/** What the REST API sends about fixes, selections and replays. */
import type { Figures } from "../lib/outcome";

/** Bytes in base64; null is a null, which is not empty. Without base64 but with a size they are too large to be sent. */
export interface Bytes {
  base64: string | null;
  size: number | null;
}

export interface Message {
  key: Bytes;
  value: Bytes;
  headers: { name: string; value: Bytes }[];
}

export interface Draft extends Message {
  id: number;
  updated_at: string;
  digest: string;
  identical: boolean;
}

export interface FixPage {
  original: Message | null;
  not_replayable: "expired" | "unknown" | "forbidden" | null;
  stripped: string[];
  draft: Draft | null;
  others: { author: string; updated_at: string }[];
  too_large: boolean;
  earlier: { replay: number; item_state: ItemState; reason: string; at: string }[];
}

export interface FixBody {
  key?: { base64: string | null };
  value?: { base64: string | null };
  headers?: { name: string; value: { base64: string | null } }[];
  base_updated_at: string | null;
}

export interface Coordinates {
  topic: string;
  partition: number;
  offset: number;
}

export interface LetterRef extends Coordinates {
  id: number;
  key_text: string | null;
  withheld: boolean;
}

export interface FixList {
  results: { id: number; dead_letter: LetterRef; updated_at: string; identical: boolean }[];
}

export interface Selection {
  id: number;
  count: number;
  watermark: number;
  digest: string;
  title: string;
  created_at: string;
  created_by: string | null;
  drifted?: boolean;
}

export type ReplayStatus = "planning" | "planned" | "running" | "paused" | "cancelled" | "watching" | "done";
export type ItemState = "planned" | "queued" | "sending" | "sent" | "passed" | "failed_again" | "unknown" | "skipped";
export type CheckLevel = "ok" | "warn" | "stop";

export interface Plan {
  checked_at: string;
  took_ms: number;
  digest: string;
  total: number;
  to_send: number;
  edited: number;
  skipped: { reason: string; count: number; text: string; replays: number[] }[];
  checks: { level: CheckLevel; title: string; text: string }[];
  targets: {
    topic: string;
    exists: boolean;
    partitions: { partition: number | null; count: number }[];
    largest_bytes: number | null;
    limit_bytes: number | null;
    watched: { connector: string; group: string; state: string; lag: number | null }[];
    also_read_by: string[];
    groups: TargetGroup[];
  }[];
  headers: { added: string[]; stripped: string[] };
  /** What is typed before it is run. */
  confirm: { word: string } | null;
  runnable: boolean;
}

/** A consumer group on a target. */
export interface TargetGroup {
  name: string;
  kind: string;
  state: string;
  members: number;
  lag: number | null;
  watched: boolean;
}

/** A second person's agreement to a plan; `void` when it is of an earlier one. */
export interface Approval {
  needed: boolean;
  /** Why a second person must agree, a clause each. */
  reasons: string[];
  /** Who planned, edited or asked for it, and so can't approve it. */
  barred: string[];
  above: number;
  asked_by: string | null;
  asked_at: string | null;
  approved_by: string | null;
  approved_at: string | null;
  void: boolean;
  approved: boolean;
  /** The highest speed that was approved, in records a second; 0: no limit, null: nobody approved one. */
  rate: number | null;
}

export type OrderGuard = "skip" | "anyway" | "last";

/** The step of a canary that is under way; `stopped`: it did not pass, and a person is asked. */
export interface Canary {
  step: number;
  size: number;
  sent: number;
  waiting: number;
  passed: number;
  failed_again: number;
  unknown: number;
  stopped: boolean;
}

export interface Replay extends MoreOptions {
  id: number;
  title: string;
  status: ReplayStatus;
  target_topic: string;
  use_fixes: boolean;
  resend: boolean;
  rate: number;
  reason: string;
  trouble: string;
  /** The index of the canary's step that is under way; as many as there are steps once it is past them. */
  step: number;
  canary: Canary | null;
  /** What resuming it would do. */
  resuming: string;
  selection: Selection;
  /** Null while it is made; left out where it was not asked for. */
  plan?: Plan | null;
  planned_count: number;
  approval: Approval;
  planned_at: string;
  created_by: string | null;
  created_at: string;
  started_by: string | null;
  started_at: string | null;
  sent_at: string | null;
  done_at: string | null;
  watching: string[];
  counts: Figures;
  reasons: { state: ItemState; reason: string; count: number }[];
  sent: number;
  edited: number;
  chunks: number;
  said?: string;
}

export interface ReplayPage {
  results: Replay[];
  next: string | null;
}

/** The options that most people leave as they are. */
export interface MoreOptions {
  target_cluster: string;
  shadow: boolean;
  keep_timestamps: boolean;
  order: OrderGuard;
  steps: number[];
  breaker_percent: number | null;
  max_lag: number | null;
  /** Whether groups are resolved of which all passed. */
  resolve_groups: boolean;
}

export interface ReplayOptions extends Partial<MoreOptions> {
  target_topic: string;
  use_fixes: boolean;
  resend: boolean;
  rate: number;
}

export interface Item {
  ordinal: number;
  dead_letter: LetterRef;
  from: Coordinates | null;
  sent_to: Coordinates | null;
  sent_digest: string;
  attempt: number;
  state: ItemState;
  reason: string;
  evidence: string;
  known_by: "proven" | "observed" | "";
  /** The connector or consumer group whose outcome counts. */
  watched: string;
  edited: boolean;
  refailure: (Coordinates & { id: number }) | null;
  /** The dead letter is of something that was made of the record, or of another reader: linked, not counted. */
  downstream: boolean;
  at: string;
  history: EarlierOutcome[];
  /** What became of it in each further group. */
  outcomes: OutcomeInGroup[];
}

export interface EarlierOutcome {
  at: string;
  state: ItemState;
  reason: string;
  evidence: string;
}

export interface OutcomeInGroup extends EarlierOutcome {
  group: string;
  known_by: "proven" | "observed" | "";
  history: EarlierOutcome[];
}

/** A group of which every record that was sent passed. */
export interface ResolvableGroup {
  id: number;
  title: string;
  count: number;
}

export interface ItemPage {
  results: Item[];
  next: string | null;
  total: number;
}

export interface ReplayLog {
  results: { at: string; actor: string; kind: string; text: string }[];
}

export interface ReplaySeries {
  from: string;
  to: string;
  bucket_ms: number;
  sent: number[];
  settled: number[];
}

export interface LetterReplays {
  results: (Item & { replay: { id: number; title: string; status: ReplayStatus; started_by: string | null } })[];
  timeline: { at: string; kind: string; text: string; replay: number | null; dead_letter: number | null }[];
  lineage: { dead_letter: number; at: string; text: string }[];
  disposal: Disposal | null;
}
