import { count, span } from "./format";

export interface Budget {
  limit: number;
  used: number;
}

interface Limit extends Budget {
  left: number | null;
}

interface Limits {
  total: Limit | null;
  rate: Limit | null;
  window_ms: number;
  risk: string;
  decided_by?: string;
}

/** One line about one limit: what it counts, what is left of it, and how much of it is used, 0 to 1. */
export interface BudgetLine {
  label: string;
  words: string;
  used: number;
  empty: boolean;
}

const UNLIMITED = "unlimited";
const FAILS = "fails on the next error";
const UNTOLD = "not reported yet";
const WINDOWS: Record<number, string> = { 60_000: "per minute", 3_600_000: "per hour", 86_400_000: "per day" };

/** The budgets of those tasks that have reported one. */
export function budgetsOf(tasks: readonly { tolerance: { limit?: number; used?: number } | null }[]): Budget[] {
  return tasks.flatMap(({ tolerance }) => (tolerance?.limit === undefined ? [] : [{ limit: tolerance.limit, used: tolerance.used ?? 0 }]));
}

/** What is left before the tolerance limit: "248 of 500 left", "unlimited", or that the next error stops it. */
export function budgetWords(budgets: readonly Budget[]): string {
  const first = budgets[0];
  if (!first) return UNTOLD;
  if (budgets.every((one) => one.limit < 0)) return UNLIMITED;
  if (budgets.every((one) => one.limit === 0)) return FAILS;
  const left = budgets.map((one) => count(Math.max(0, one.limit - one.used)));
  const words = left.length < 4 ? left.join(" and ") : `${count(Math.min(...budgets.map((one) => one.limit - one.used)))} at least`;
  return `${words} of ${count(first.limit)} left`;
}

/** The largest part of a budget that is used up, 0 to 1. */
export function budgetUsed(budgets: readonly Budget[]): number {
  return Math.max(0, ...budgets.map((one) => (one.limit > 0 ? one.used / one.limit : 0)));
}

/** A task's budget in one or two lines: limits that can't be reached are left out, a limit of 0 says all. */
export function budgetLines({ total, rate, window_ms, risk, decided_by }: Limits): BudgetLine[] {
  const failed = risk === "failed";
  const plain = (words: string, label = ""): BudgetLine[] => [{ label, words, used: 0, empty: false }];
  if (decided_by === "handlers") return plain(failed ? "a handler decided" : risk === "fail_fast" ? FAILS : "a handler decides");
  if (!total && !rate) return plain(UNTOLD);
  const zero = [total?.limit === 0 && "in all", rate?.limit === 0 && windowWords(window_ms)].filter((label) => label !== false);
  if (zero.length > 0) return plain(failed ? "no error is tolerated" : FAILS, `0 ${zero.join(" and ")}`);
  const limits: [string, Limit | null][] = [["in all", total], [windowWords(window_ms), rate]];
  const lines = limits.flatMap(([label, limit]) => (limit && limit.limit > 0 ? [lineOf(label, limit, failed)] : []));
  return lines.length > 0 ? lines : plain(UNLIMITED);
}

/** When a task would fail if errors went on as in the last hour. */
export function paceWords(emptyInMs: number | null): string | null {
  if (emptyInMs === null) return null;
  return emptyInMs > 365 * 86_400_000 ? "fails in over a year at this pace" : `fails in about ${span(emptyInMs)} at this pace`;
}

/** "per minute", or "per 90 s" for a window of another length. */
export function windowWords(windowMs: number): string {
  return WINDOWS[windowMs] ?? `per ${span(windowMs)}`;
}

function lineOf(label: string, { limit, used }: Budget, failed: boolean): BudgetLine {
  const left = Math.max(0, limit - used);
  const words = `${count(left)} of ${count(limit)} left`;
  return { label, words: left === 0 && !failed ? `${words}: ${FAILS}` : words, used: Math.min(1, used / limit), empty: left === 0 };
}
