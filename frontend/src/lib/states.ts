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

const ATTENTION: Record<string, { label: string; glyph: string; tone: Tone }> = {
  new: { label: "New", glyph: "✕", tone: "failed" },
  escalating: { label: "Escalating", glyph: "↑", tone: "warn" },
  regressed: { label: "Regressed", glyph: "↺", tone: "failed" },
  budget: { label: "Error budget", glyph: "↓", tone: "warn" },
  index_behind: { label: "Index behind", glyph: "…", tone: "warn" },
  failed_task: { label: "Failed task", glyph: "✕", tone: "failed" },
  broker_down: { label: "Broker away", glyph: "!", tone: "failed" },
  engine_down: { label: "Engine away", glyph: "!", tone: "failed" },
};

export function groupState(state: string): { label: string; glyph: string; tone: Tone } {
  return GROUPS[state] ?? { label: state, glyph: "", tone: "plain" };
}

export function taskState(state: string): { glyph: string; tone: Tone } {
  return TASKS[state] ?? { glyph: "?", tone: "unknown" };
}

export function attentionKind(kind: string): { label: string; glyph: string; tone: Tone } {
  return ATTENTION[kind] ?? { label: kind.replaceAll("_", " "), glyph: "!", tone: "warn" };
}
