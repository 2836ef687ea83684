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
  failed_task: { label: "Failed task", glyph: "✕", tone: "failed" },
  broker_down: { label: "Broker away", glyph: "!", tone: "failed" },
  engine_down: { label: "Engine away", glyph: "!", tone: "failed" },
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
  planned: { label: "Planned", glyph: "", tone: "plain" },
  running: { label: "Running", glyph: "●", tone: "accent" },
  paused: { label: "Paused", glyph: "‖", tone: "warn" },
  watching: { label: "Watching", glyph: "…", tone: "waiting" },
  cancelled: { label: "Cancelled", glyph: "■", tone: "plain" },
  done: { label: "Done", glyph: "■", tone: "plain" },
};

const REASONS: Record<string, string> = {
  no_group: "no watched connector reads the target",
  group_empty: "its connector was paused, stopped, failed or deleted",
  no_committed_offset: "its connector has committed no offset there",
  offset_moved_by_hand: "committed past, but no task reported it",
  no_reports: "committed past, and there is no report of it",
  no_dead_letter_path: "its dead letters go nowhere that is indexed",
  expired_or_compacted: "gone from the topic before it was read",
  topic_recreated: "the target topic is another one now",
  index_stopped: "the index has not reached the dead letters written since",
  possible_match: "a later dead letter has this key but no item id",
  coordinates_lost: "sent, but where to is not known",
  watch_timeout: "not settled within 24 h",
  filtered: "left out by a transform or predicate",
  waiting: "sent, not settled yet",
  in_retry: "its task tries it again",
  already_sent: "sent by another replay before",
  same_lineage: "another dead letter of the same record is sent instead",
  expired: "Kafka no longer keeps the record",
  unknown_bytes: "the record's bytes are not known",
  oversize: "larger than the topic takes",
  no_target: "no topic to send it to",
  forbidden_target: "replays don't write to that topic",
  cancelled: "cancelled before it was sent",
  rejected: "the broker refused it",
};

export function itemState(state: string): { label: string; glyph: string; tone: Tone } {
  return ITEMS[state] ?? { label: state, glyph: "?", tone: "unknown" };
}

export function replayStatus(status: string): { label: string; glyph: string; tone: Tone } {
  return REPLAYS[status] ?? { label: status, glyph: "?", tone: "unknown" };
}

/** What a state's reason means; without one, what the state itself rests on. */
export function reasonWords(state: string, reason: string): string {
  if (state === "failed_again" && reason === "skipped") return "tolerated without a dead letter";
  if (reason !== "") return REASONS[reason] ?? reason.replaceAll("_", " ");
  return { passed: "proven by the task’s report", failed_again: "a new dead letter of it came", sent: "sent, not settled yet" }[state] ?? "";
}

export function groupState(state: string): { label: string; glyph: string; tone: Tone } {
  return GROUPS[state] ?? { label: state, glyph: "", tone: "plain" };
}

export function taskState(state: string): { glyph: string; tone: Tone } {
  return TASKS[state] ?? { glyph: "?", tone: "unknown" };
}

/** How near a task is to failing by its errors. */
export function budgetRisk(risk: string): { label: string; glyph: string; tone: Tone } {
  return RISKS[risk] ?? { label: risk.replaceAll("_", " "), glyph: "?", tone: "unknown" };
}

export function attentionKind(kind: string): { label: string; glyph: string; tone: Tone } {
  return ATTENTION[kind] ?? { label: kind.replaceAll("_", " "), glyph: "!", tone: "warn" };
}
