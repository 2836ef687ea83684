import type { Rehearsed, RehearsedStage, StageState } from "../../api/rehearsals";
import { count } from "../../lib/format";
import type { Tone } from "../../lib/states";

/** The states of a stage, the worst first. `total` is said of several records. */
export const STATES: Record<StageState, { label: string; total: string; glyph: string; tone: Tone }> = {
  failed: { label: "fails", total: "failed", glyph: "✕", tone: "failed" },
  filtered: { label: "leaves it out", total: "left out", glyph: "∅", tone: "warn" },
  not_rehearsable: { label: "not rehearsable", total: "not rehearsed", glyph: "?", tone: "unknown" },
  ok: { label: "passes", total: "passed", glyph: "✓", tone: "passed" },
  skipped: { label: "skipped", total: "skipped", glyph: "–", tone: "waiting" },
  before: { label: "passed before it failed", total: "passed before", glyph: "✓", tone: "waiting" },
  not_reached: { label: "not reached", total: "not reached", glyph: "", tone: "waiting" },
};

export function isPut(stage: RehearsedStage): boolean {
  return stage.type === "TASK_PUT";
}

/** Whether the sink wrote the record's row, and the database rolled it back. */
export function isRolledBack(stage: RehearsedStage | undefined, { put }: Rehearsed): boolean {
  return put !== undefined && stage !== undefined && isPut(stage) && stage.state === "ok";
}

export function passedEveryStage({ stages }: Rehearsed): boolean {
  return stages.length > 0 && stages.every(({ state }) => state === "ok" || state === "skipped");
}

/** The name of the style of a stage in this state. */
export function look(state: StageState, rolledBack: boolean): string {
  return rolledBack && state === "ok" ? "rolled_back" : state;
}

/** The worst state of one stage over several records of a connector, and a text such as `18 passed, 2 failed`. */
export function total(results: Rehearsed[], index: number): { state: StageState; rolledBack: boolean; text: string } {
  const counts = (Object.keys(STATES) as StageState[])
    .map((state) => ({ state, n: results.filter(({ stages }) => stages[index]?.state === state).length }))
    .filter(({ n }) => n > 0);
  const state = counts[0]?.state ?? "not_reached";
  const rolledBack = results.some((one) => isRolledBack(one.stages[index], one));
  const text = counts
    .sort((a, b) => Number(b.state === "ok") - Number(a.state === "ok"))
    .map((one) => `${count(one.n)} ${STATES[one.state].total}`)
    .join(", ");
  return { state, rolledBack, text: rolledBack ? `${text}, rolled back` : text };
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
