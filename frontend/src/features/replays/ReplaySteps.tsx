import type { Replay } from "../../api/replayTypes";
import { count, plural, timeOfDay } from "../../lib/format";
import { selectionName } from "../../lib/naming";
import { sentCount } from "../../lib/outcome";
import { useZone } from "../../lib/zone";
import { Panel } from "../../ui/Panel";
import styles from "./Replays.module.css";

type StepState = "done" | "current" | "upcoming" | "cancelled";

interface ReplayStep {
  name: string;
  text: string;
  at: string | null;
  state: StepState;
}

const MARKS: Record<StepState, string> = { done: "✓", current: "●", upcoming: "", cancelled: "■" };
const STATE_WORDS: Record<StepState, string> = {
  done: "done",
  current: "current",
  upcoming: "not yet",
  cancelled: "ended",
};

/** The steps of a replay: freeze, check, canary, rest, watch, done. */
export function ReplaySteps({ replay }: { replay: Replay }) {
  const { zone } = useZone();
  return (
    <Panel label="Steps">
      <ol className={styles.steps}>
        {replaySteps(replay).map((step) => (
          <li
            key={step.name}
            className={styles[step.state]}
            aria-current={step.state === "current" ? "step" : undefined}
          >
            <i aria-hidden="true">{MARKS[step.state]}</i>
            <div>
              <b>{step.name}</b>
              <span className="sr">, {STATE_WORDS[step.state]}</span>
              <div className="s t2">{step.text}</div>
              <div className="mono xs t3">{step.at ? timeOfDay(step.at, zone) : ""}</div>
            </div>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

function replaySteps(replay: Replay): ReplayStep[] {
  const { counts, status, selection, plan } = replay;
  const sent = sentCount(counts);
  const toSend = counts.total - counts.skipped;
  const cancelled = status === "cancelled";
  const open = counts.waiting + counts.sending;
  const over = status === "done" || (cancelled && open === 0);
  const sending = status === "running" || status === "paused";
  return [
    {
      name: "Freeze",
      text: `${count(selection.count)}, ${selectionName(selection.id)}`,
      at: selection.created_at,
      state: "done",
    },
    {
      name: "Check",
      text: plan ? plural(plan.checks.length, "check") : "the plan",
      at: replay.planned_at,
      state: "done",
    },
    ...canaryStep(replay, sending, cancelled),
    {
      name: replay.steps.length > 0 ? "Rest" : "Send",
      text: `${count(sent)} of ${count(cancelled ? counts.total : toSend)} sent${status === "paused" ? ", paused" : cancelled ? ", cancelled" : ""}`,
      at: replay.sent_at ?? (isInCanary(replay) ? null : replay.started_at),
      state: isInCanary(replay) ? "upcoming" : sending ? "current" : cancelled ? "cancelled" : "done",
    },
    {
      name: "Watch",
      text: open > 0 ? `${count(open)} not settled` : over ? "all settled" : "until all are settled",
      at: null,
      state: over ? "done" : sending ? "upcoming" : "current",
    },
    { name: "Done", text: over ? "all outcomes settled" : "", at: replay.done_at, state: over ? "done" : "upcoming" },
  ];
}

function isInCanary(replay: Replay): boolean {
  return replay.canary !== null;
}

/** Return the canary's step, or none if the replay has no canary. */
function canaryStep(replay: Replay, sending: boolean, cancelled: boolean): ReplayStep[] {
  const { steps, step, canary } = replay;
  if (steps.length === 0) return [];
  const text = !canary
    ? steps.map(count).join(", ")
    : canary.stopped
      ? `stopped at ${count(canary.size)}`
      : `${count(canary.sent)} of ${count(canary.size)}${canary.waiting > 0 ? `, ${count(canary.waiting)} awaited` : ""}`;
  return [
    {
      name: "Canary",
      text,
      at: replay.started_at,
      state: canary && sending ? "current" : cancelled && step < steps.length ? "cancelled" : "done",
    },
  ];
}
