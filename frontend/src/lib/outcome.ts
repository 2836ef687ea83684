import type { Tone } from "./states";

/** The number of a replay's items by state. */
export interface Figures {
  total: number;
  planned: number;
  queued: number;
  sending: number;
  waiting: number;
  passed: number;
  failed_again: number;
  unknown: number;
  skipped: number;
}

/** Return the status that a replay's chip shows: that of a plan tells whether it waits for a second person. */
export function shownStatus(replay: {
  status: string;
  approval: { asked_at: string | null; void: boolean; approved: boolean };
}): string {
  const { asked_at, void: isVoid, approved } = replay.approval;
  return replay.status === "planned" && asked_at !== null && !isVoid && !approved
    ? "waits_for_approval"
    : replay.status;
}

export interface Share {
  state: "passed" | "failed_again" | "unknown" | "sent" | "sending" | "queued" | "skipped";
  count: number;
  tone: Tone;
}

/** Return the parts of the outcome bar, settled ones first; they add up to all items. */
export function shares(figures: Figures): Share[] {
  const parts: Share[] = [
    { state: "passed", count: figures.passed, tone: "passed" },
    { state: "failed_again", count: figures.failed_again, tone: "failed" },
    { state: "unknown", count: figures.unknown, tone: "unknown" },
    { state: "sent", count: figures.waiting, tone: "waiting" },
    { state: "sending", count: figures.sending, tone: "accent" },
    { state: "queued", count: figures.queued + figures.planned, tone: "plain" },
    { state: "skipped", count: figures.skipped, tone: "plain" },
  ];
  return parts.filter((part) => part.count > 0);
}

export function sentCount(figures: Figures): number {
  return figures.passed + figures.failed_again + figures.unknown + figures.waiting;
}

export function settledCount(figures: Figures): number {
  return figures.passed + figures.failed_again + figures.unknown;
}

/** "139 + 3 + 2 + 13 = 157 sent; 157 + 146 queued + 0 skipped = 303". */
export function countEquation(figures: Figures, format: (value: number) => string): string {
  const sent = sentCount(figures);
  const parts = [figures.passed, figures.failed_again, figures.unknown, figures.waiting].map(format).join(" + ");
  const sending = figures.sending > 0 ? ` + ${format(figures.sending)} sending` : "";
  return `${parts} = ${format(sent)} sent; ${format(sent)}${sending} + ${format(figures.queued + figures.planned)} queued + ${format(figures.skipped)} skipped = ${format(figures.total)}`;
}

/** Return the time until all are sent, in milliseconds; null if it is not running, finished or unlimited. */
export function remainingMs(figures: Figures, rate: number, status: string): number | null {
  const left = figures.queued + figures.sending;
  return status === "running" && rate > 0 && left > 0 ? (1000 * left) / rate : null;
}

export interface ReasonRow {
  state: string;
  reason: string;
  count: number;
  /** The act that makes an unknown outcome known. */
  remedy?: string;
}

const ATTENTION = ["failed_again", "unknown", "sent", "passed", "sending", "queued", "planned", "skipped"] as const;

/** Return the counts by state and reason, most urgent first; items without a reason have an empty one. */
export function reasonRows(figures: Figures, reasons: readonly ReasonRow[]): ReasonRow[] {
  return ATTENTION.flatMap((state) => {
    const given = reasons.filter((one) => one.state === state && one.reason !== "").sort((a, b) => b.count - a.count);
    const plain = figures[state === "sent" ? "waiting" : state] - given.reduce((sum, one) => sum + one.count, 0);
    return plain > 0 ? [{ state, reason: "", count: plain }, ...given] : given;
  });
}

/** The selectable speeds in records per second; the step after the highest is no limit. */
export const RATES = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];

/** Return the next lower speed; 0 means no limit. */
export function slower(rate: number): number {
  if (rate === 0) return RATES.at(-1)!;
  return RATES.findLast((one) => one < rate) ?? RATES[0]!;
}

/** Return the next higher speed, or 0 (no limit) after the highest. */
export function faster(rate: number): number {
  return rate === 0 ? 0 : (RATES.find((one) => one > rate) ?? 0);
}

/** Format a speed in records per second. */
export function rateWords(rate: number): string {
  return rate === 0 ? "no limit" : `${rate} / s`;
}
