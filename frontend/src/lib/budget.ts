export interface Budget {
  limit: number;
  used: number;
}

/** The budgets of those tasks that have reported one. */
export function budgetsOf(tasks: readonly { tolerance: { limit?: number; used?: number } | null }[]): Budget[] {
  return tasks.flatMap(({ tolerance }) => (tolerance?.limit === undefined ? [] : [{ limit: tolerance.limit, used: tolerance.used ?? 0 }]));
}

/** What is left before the tolerance limit: "248 of 500 left", "no limit", or that the first error stops it. */
export function budgetWords(budgets: readonly Budget[]): string {
  const first = budgets[0];
  if (!first) return "not reported yet";
  if (budgets.every((one) => one.limit < 0)) return "no limit";
  if (budgets.every((one) => one.limit === 0)) return "0 tolerated: first error stops it";
  const format = new Intl.NumberFormat("en-US");
  const left = budgets.map((one) => format.format(Math.max(0, one.limit - one.used)));
  const words = left.length < 4 ? left.join(" and ") : `${format.format(Math.min(...budgets.map((one) => one.limit - one.used)))} at least`;
  return `${words} of ${format.format(first.limit)} left`;
}

/** The largest part of a budget that is used up, 0 to 1. */
export function budgetUsed(budgets: readonly Budget[]): number {
  return Math.max(0, ...budgets.map((one) => (one.limit > 0 ? one.used / one.limit : 0)));
}
