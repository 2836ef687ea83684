import { plural } from "./format";
import type { Tone } from "./states";

export type WorkState = "open" | "replaying" | "passed" | "set_aside";
export type Work = Readonly<Record<WorkState, number>>;

interface WorkWords {
  state: WorkState;
  label: string;
  glyph: string;
  tone: Tone;
}

/** The states of a dead letter by the work that is left on it; each dead letter is in one of them. */
export const WORK_STATES: readonly WorkWords[] = [
  { state: "open", label: "open", glyph: "○", tone: "failed" },
  { state: "replaying", label: "replaying", glyph: "→", tone: "waiting" },
  { state: "passed", label: "passed", glyph: "✓", tone: "passed" },
  { state: "set_aside", label: "set aside", glyph: "–", tone: "plain" },
];

export function workWords(state: WorkState): WorkWords {
  return WORK_STATES.find((one) => one.state === state) ?? WORK_STATES[0]!;
}

/** Return the number of dead letters in all states. */
export function allWork(work: Work): number {
  return WORK_STATES.reduce((sum, { state }) => sum + work[state], 0);
}

/** Return why groups can't be resolved yet; undefined if no work is left in them. */
export function workLeft(groups: readonly { work: Work }[]): string | undefined {
  const sum = (state: WorkState) => groups.reduce((total, { work }) => total + work[state], 0);
  const [open, replaying] = [sum("open"), sum("replaying")];
  if (open > 0) return `${plural(open, "record is", "records are")} open. Replay or set aside first`;
  return replaying > 0 ? `${plural(replaying, "record is", "records are")} being replayed` : undefined;
}
