interface TimedEvent {
  at: string;
}

/**
 * Merge two lists of events by time. The first list keeps its order, because its times come from several clocks;
 * its last event has the same clock as the second list.
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
