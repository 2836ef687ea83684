/** Groups of dead letters with one fingerprint. */
import type { GroupRef } from "./deadLetters";

export type GroupState = "new" | "ongoing" | "regressed" | "escalating" | "resolved" | "muted";

export interface Mute {
  at: string | null;
  until: string | null;
  events: number | null;
  rate: number | null;
  /** Events since it was muted. */
  seen: number;
}

export interface Group {
  id: number;
  title: string;
  exception_class: string | null;
  stage: string | null;
  message: string;
  fingerprint_count: number;
  state: GroupState;
  mute: Mute | null;
  events: number;
  events_24h: number;
  now: number;
  now_exact: boolean;
  keys: number;
  keys_exact: boolean;
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

export interface Fingerprint {
  id: number;
  digest: string;
  exception_class: string;
  stage: string;
  message: string;
  holes: { name: string; example: string }[];
  frame: string;
  events: number;
}

export interface Regrouping {
  id: number;
  kind: "merge" | "split";
  at: string;
  actor: string;
  reason: string;
  fingerprints: number;
  sources: GroupRef[];
  targets: GroupRef[];
  undone: boolean;
}

export interface GroupDetail extends Group {
  fingerprints: Fingerprint[];
  regroupings: Regrouping[];
  activity: { at: string; actor: string | null; text: string; kind?: string }[];
}

/** What the records of a group have in common, with how many were looked at here and elsewhere. */
export interface Common {
  traits: { field: string; value: string; here: number; elsewhere: number }[];
  here: number;
  elsewhere: number;
  partial: boolean;
  /** The reader may not see content, so keys, values and headers are not compared. */
  withheld: boolean;
}
