import { count, plural, span } from "./format";
import { shortClass } from "./stages";

interface Limit {
  limit: number;
  used: number;
  left: number | null;
}

interface Limits {
  total: Limit | null;
  rate: Limit | null;
  window_ms: number;
  risk: string;
  decided_by?: string;
}

/** One line about a limit: its window, the remaining errors, and the used share (0 to 1). */
export interface BudgetLine {
  label: string;
  words: string;
  used: number;
  empty: boolean;
}

const UNLIMITED = "unlimited";
const FAILS_NEXT = "fails on the next error";
const NOT_REPORTED = "not reported yet";
const WINDOWS: Record<number, string> = { 60_000: "per minute", 3_600_000: "per hour", 86_400_000: "per day" };
const DECIDES: Record<string, string> = {
  processing: "transforms, processors and put",
  deserialization: "converters that read",
  production: "converters that write, and produce",
};
const NEAREST_FIRST = [
  "failed",
  "exhausted",
  "near",
  "within",
  "fail_fast",
  "unused",
  "unlimited",
  "handler",
  "unknown",
];

/** Return a task's budget in one or two lines. Unlimited limits are left out; a limit of 0 replaces the others. */
export function budgetLines({ total, rate, window_ms, risk, decided_by }: Limits): BudgetLine[] {
  const failed = risk === "failed";
  const plain = (words: string, label = ""): BudgetLine[] => [{ label, words, used: 0, empty: false }];
  if (decided_by === "handlers")
    return plain(failed ? "a handler decided" : risk === "fail_fast" ? FAILS_NEXT : "a handler decides");
  if (!total && !rate) return plain(NOT_REPORTED);
  const zero = [total?.limit === 0 && "in all", rate?.limit === 0 && windowWords(window_ms)].filter(
    (label) => label !== false,
  );
  if (zero.length > 0) return plain(failed ? "no error is tolerated" : FAILS_NEXT, `0 ${zero.join(" and ")}`);
  const limits: [string, Limit | null][] = [
    ["in all", total],
    [windowWords(window_ms), rate],
  ];
  const lines = limits.flatMap(([label, limit]) => (limit && limit.limit > 0 ? [lineOf(label, limit, failed)] : []));
  return lines.length > 0 ? lines : plain(UNLIMITED);
}

/** Return the stages whose errors a handler decides about, with the handler; `title` has its full name. */
export function handlerLines(handlers: Record<string, string>): { title: string; words: string }[] {
  return Object.entries(handlers).map(([role, name]) => ({
    title: `${role}: ${name}`,
    words: `${DECIDES[role] ?? role}: ${shortClass(name)}`,
  }));
}

/** Return the task that is nearest to failing; of equal tasks the first. */
export function worstTask<T extends { budget: { risk: string; left: number | null } }>(
  tasks: readonly T[],
): T | undefined {
  const left = ({ budget }: T) => budget.left ?? Infinity;
  return tasks.reduce<T | undefined>((worst, one) => {
    if (worst === undefined) return one;
    const nearer = NEAREST_FIRST.indexOf(one.budget.risk) - NEAREST_FIRST.indexOf(worst.budget.risk);
    return nearer < 0 || (nearer === 0 && left(one) < left(worst)) ? one : worst;
  }, undefined);
}

/** Return a sentence for tasks without a known risk. It says that none is near only if every task has reported. */
export function noRiskWords(risks: readonly string[]): string {
  if (risks.length === 0) return "There is no task.";
  if (risks.every((risk) => risk === "unused"))
    return "No task has used any of its error budget, and none fails on its next error.";
  const say = (risk: string, words: (tasks: string, one: boolean) => string): string[] => {
    const number = risks.filter((each) => each === risk).length;
    return number > 0 ? [words(plural(number, "task"), number === 1)] : [];
  };
  const parts = [
    ...say("unknown", (tasks, one) => `${tasks} ${one ? "has" : "have"} not reported`),
    ...say("unlimited", (tasks, one) => `${tasks} ${one ? "has" : "have"} no limits`),
    ...say("handler", (tasks) => `a handler decides about ${tasks}`),
    ...say(
      "unused",
      (tasks, one) => `${tasks} ${one ? "has used none of its error budget" : "have used none of their error budget"}`,
    ),
  ];
  return `No task is known to be near: ${parts.join("; ")}.`;
}

/** Return when a task would fail at the error rate of the last hour. */
export function paceWords(emptyInMs: number | null): string | null {
  if (emptyInMs === null) return null;
  return emptyInMs > 365 * 86_400_000
    ? "fails in over a year at this pace"
    : `fails in about ${span(emptyInMs)} at this pace`;
}

/** "per minute", or "per 90 s" for a window of another length. */
function windowWords(windowMs: number): string {
  return WINDOWS[windowMs] ?? `per ${span(windowMs)}`;
}

function lineOf(label: string, { limit, used }: Limit, failed: boolean): BudgetLine {
  const left = Math.max(0, limit - used);
  const words = `${count(left)} of ${count(limit)} left`;
  return {
    label,
    words: left === 0 && !failed ? `${words}: ${FAILS_NEXT}` : words,
    used: Math.min(1, used / limit),
    empty: left === 0,
  };
}
