interface TimedEvent {
  at: string;
}

/**
 * What happened, and what else did, by time. The order of the first stays: its times are of several clocks, of which
 * the last is that of the others.
 */
export function mergedByTime<T extends TimedEvent>(first: readonly T[], others: readonly T[]): T[] {
  const last = Date.parse(first.at(-1)?.at ?? "");
  let before = -Infinity;
  const own = first.map((event) => {
    before = Math.max(before, Date.parse(event.at));
    return { event, ms: Math.min(before, last) };
  });
  const rest = others.map((event) => ({ event, ms: Date.parse(event.at) }));
  return [...own, ...rest].sort((a, b) => a.ms - b.ms).map(({ event }) => event);
}
