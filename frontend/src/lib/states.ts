export type Tone = "failed" | "warn" | "passed" | "unknown" | "waiting" | "plain" | "accent";

const GROUPS: Record<string, { label: string; glyph: string; tone: Tone }> = {
  new: { label: "New", glyph: "✕", tone: "failed" },
  regressed: { label: "Regressed", glyph: "↺", tone: "failed" },
  escalating: { label: "Escalating", glyph: "↑", tone: "warn" },
  ongoing: { label: "Ongoing", glyph: "", tone: "plain" },
  muted: { label: "Muted", glyph: "–", tone: "waiting" },
  resolved: { label: "Resolved", glyph: "✓", tone: "passed" },
};

const TASKS: Record<string, { glyph: string; tone: Tone }> = {
  RUNNING: { glyph: "✓", tone: "passed" },
  PAUSED: { glyph: "‖", tone: "waiting" },
  STOPPED: { glyph: "■", tone: "waiting" },
  UNASSIGNED: { glyph: "…", tone: "waiting" },
  RESTARTING: { glyph: "↺", tone: "warn" },
  FAILED: { glyph: "✕", tone: "failed" },
  FINISHED: { glyph: "■", tone: "plain" },
  UNKNOWN: { glyph: "?", tone: "unknown" },
};

/** The state of a connector, derived from its tasks: it runs only if all its tasks run. */
const CONNECTORS: Record<string, { glyph: string; tone: Tone }> = {
  running: { glyph: "✓", tone: "passed" },
  paused: { glyph: "‖", tone: "waiting" },
  stopped: { glyph: "■", tone: "waiting" },
  unassigned: { glyph: "…", tone: "warn" },
  no_tasks: { glyph: "…", tone: "warn" },
  unknown: { glyph: "?", tone: "unknown" },
  failed: { glyph: "✕", tone: "failed" },
  finished: { glyph: "■", tone: "plain" },
};

const RISKS: Record<string, { label: string; glyph: string; tone: Tone }> = {
  failed: { label: "Failed", glyph: "✕", tone: "failed" },
  exhausted: { label: "Next error fails it", glyph: "!", tone: "failed" },
  near: { label: "Near its limit", glyph: "↓", tone: "warn" },
  within: { label: "Within its limit", glyph: "✓", tone: "plain" },
  fail_fast: { label: "Tolerates none", glyph: "0", tone: "plain" },
};

const ATTENTION: Record<string, { label: string; glyph: string; tone: Tone }> = {
  new: { label: "New", glyph: "✕", tone: "failed" },
  escalating: { label: "Escalating", glyph: "↑", tone: "warn" },
  regressed: { label: "Regressed", glyph: "↺", tone: "failed" },
  budget: { label: "Error budget", glyph: "↓", tone: "warn" },
  index_behind: { label: "Index behind", glyph: "…", tone: "warn" },
  retention_soon: { label: "Retention soon", glyph: "◷", tone: "warn" },
  failed_task: { label: "Failed task", glyph: "✕", tone: "failed" },
  broker_down: { label: "Broker not reachable", glyph: "!", tone: "failed" },
  engine_down: { label: "Engine not reachable", glyph: "!", tone: "failed" },
  redis_down: { label: "Redis not reachable", glyph: "!", tone: "failed" },
  worker_down: { label: "Worker missing", glyph: "!", tone: "failed" },
  indexer_down: { label: "Indexer stopped", glyph: "!", tone: "failed" },
  connector_waiting: { label: "Connector waits", glyph: "…", tone: "waiting" },
  connector_held: { label: "Connector paused", glyph: "‖", tone: "warn" },
  budget_exhausted: { label: "Error budget", glyph: "↓", tone: "failed" },
  canary_paused: { label: "Canary paused", glyph: "?", tone: "unknown" },
  approval_yours: { label: "Waits for your approval", glyph: "…", tone: "waiting" },
  approval: { label: "Waits for approval", glyph: "…", tone: "waiting" },
  replay_paused: { label: "Replay paused", glyph: "!", tone: "warn" },
  replay_failing: { label: "Failed again", glyph: "✕", tone: "failed" },
};

const ITEMS: Record<string, { label: string; glyph: string; tone: Tone }> = {
  planned: { label: "Planned", glyph: "○", tone: "plain" },
  queued: { label: "Queued", glyph: "○", tone: "plain" },
  sending: { label: "Sending", glyph: "→", tone: "accent" },
  sent: { label: "Waiting", glyph: "…", tone: "waiting" },
  passed: { label: "Passed", glyph: "✓", tone: "passed" },
  failed_again: { label: "Failed again", glyph: "✕", tone: "failed" },
  unknown: { label: "Unknown", glyph: "?", tone: "unknown" },
  skipped: { label: "Skipped", glyph: "–", tone: "plain" },
};

const REPLAYS: Record<string, { label: string; glyph: string; tone: Tone }> = {
  planning: { label: "Being planned", glyph: "…", tone: "waiting" },
  planned: { label: "Planned", glyph: "", tone: "plain" },
  waits_for_approval: { label: "Waits for approval", glyph: "…", tone: "waiting" },
  running: { label: "Running", glyph: "●", tone: "accent" },
  paused: { label: "Paused", glyph: "‖", tone: "warn" },
  watching: { label: "Watching", glyph: "…", tone: "waiting" },
  cancelled: { label: "Cancelled", glyph: "■", tone: "plain" },
  done: { label: "Done", glyph: "■", tone: "plain" },
};

const EXPORTS: Record<string, { label: string; glyph: string; tone: Tone }> = {
  queued: { label: "Waiting for a worker", glyph: "…", tone: "waiting" },
  running: { label: "Being written", glyph: "●", tone: "accent" },
  done: { label: "Complete", glyph: "✓", tone: "passed" },
  failed: { label: "Failed", glyph: "✕", tone: "failed" },
  cancelled: { label: "Cancelled", glyph: "■", tone: "plain" },
  deleted: { label: "File deleted", glyph: "–", tone: "plain" },
};

const REASONS: Record<string, string> = {
  observed: "the group committed past it; no dead letter arrived in the settle time",
  settling: "the group committed past it; a dead letter may still arrive",
  indexing: "the index must reach the dead letters written since",
  no_group: "no known connector or consumer group reads the target",
  cluster_unwatched: "sent to a cluster that is not watched",
  group_empty: "no active reader: the connector is stopped, or the group has no members",
  no_committed_offset: "no offset is committed there",
  external_offsets: "its group keeps its offsets elsewhere, or has no members",
  share_group: "a share group: its offsets do not show which records it processed",
  retry_topics_unwatched: "no consumer group commits offsets of its retry topics",
  offset_moved_by_hand: "committed past, but nobody was seen to read it",
  not_observed: "committed past while the dashboard could not look",
  no_reports: "committed past, and there is no report of it",
  group_unknown: "Kafka does not describe its group",
  no_dead_letter_path: "where its dead letters go is not known, or not indexed",
  expired_or_compacted: "gone from the topic before it was read",
  topic_recreated: "the target topic was recreated",
  index_stopped: "the index has not reached the dead letters written since",
  possible_match: "a later dead letter has this key but no item id",
  coordinates_lost: "sent, but the target offset is unknown",
  watch_timeout: "not settled within 24 h",
  filtered: "filtered by a transform or predicate",
  waiting: "sent, not settled yet",
  in_retry: "its task is retrying it",
  already_sent: "sent by another replay before",
  newer_exists: "its origin topic has a newer record of the key",
  superseded: "another record of the selection has the key and is newer",
  too_many_attempts: "reached the limit of attempts and failed each time",
  discarded: "somebody discarded it",
  parked: "somebody parked it",
  handled: "somebody handled it elsewhere",
  same_lineage: "another dead letter of the same record is sent instead",
  expired: "Kafka no longer keeps the record",
  unknown_bytes: "the record's bytes are not known",
  erased: "its content was erased",
  not_allowed: "the dashboard may not read its origin topic",
  masked: "its draft has the text of a mask in place of a value",
  oversize: "larger than the topic allows",
  no_target: "no topic to send it to",
  forbidden_target: "replays don't write to that topic",
  cancelled: "cancelled before it was sent",
  rejected: "the broker refused it",
};

export function itemState(state: string): { label: string; glyph: string; tone: Tone } {
  return ITEMS[state] ?? { label: state, glyph: "?", tone: "unknown" };
}

/** Return the words for a dead letter's mark. */
export function replayStateWords(state: string): string {
  return state === "none" ? "not replayed" : state.replaceAll("_", " ");
}

export function replayStatus(status: string): { label: string; glyph: string; tone: Tone } {
  return REPLAYS[status] ?? { label: status, glyph: "?", tone: "unknown" };
}

/** Return the meaning of a reason, or of the state if there is none. */
export function reasonWords(state: string, reason: string): string {
  if (state === "failed_again" && reason === "skipped") return "tolerated without a dead letter";
  if (reason !== "") return REASONS[reason] ?? reason.replaceAll("_", " ");
  return (
    {
      passed: "proven by the task’s report",
      failed_again: "a new dead letter arrived",
      sent: "sent, not settled yet",
    }[state] ?? ""
  );
}

export function exportState(state: string): { label: string; glyph: string; tone: Tone } {
  return EXPORTS[state] ?? { label: state, glyph: "?", tone: "unknown" };
}

export function groupState(state: string): { label: string; glyph: string; tone: Tone } {
  return GROUPS[state] ?? { label: state, glyph: "", tone: "plain" };
}

export function taskState(state: string): { glyph: string; tone: Tone } {
  return TASKS[state] ?? { glyph: "?", tone: "unknown" };
}

export function connectorState(state: string): { glyph: string; tone: Tone } {
  return CONNECTORS[state] ?? { glyph: "?", tone: "unknown" };
}

/** Return the display of a task's error budget risk. */
export function budgetRisk(risk: string): { label: string; glyph: string; tone: Tone } {
  return RISKS[risk] ?? { label: risk.replaceAll("_", " "), glyph: "?", tone: "unknown" };
}

export function attentionKind(kind: string): { label: string; glyph: string; tone: Tone } {
  return ATTENTION[kind] ?? { label: kind.replaceAll("_", " "), glyph: "!", tone: "warn" };
}
