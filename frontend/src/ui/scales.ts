import { dayMonth, timeOfDay, type Zone } from "../lib/format";

/** Return the end of an axis with round ticks that includes `max`. */
export function axisMax(max: number): number {
  const step = niceStep(max / 4);
  return Math.max(1, Math.ceil(max / step) * step);
}

export function valueTicks(top: number): number[] {
  const step = niceStep(top / 4);
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, index) => index * step);
}

const TICK_STEPS_MS = [1, 5, 10, 15, 30, 60, 120, 180, 360, 720]
  .map((minutes) => minutes * 60_000)
  .concat([1, 2, 7].map((days) => days * 86_400_000));

/** Return the ticks of a time axis: position in columns, and label. There is at most one tick per column. Midnight is the date. */
export function timeTicks(
  from: number,
  bucketMs: number,
  size: number,
  zone: Zone,
  width: number,
): { at: number; text: string }[] {
  const span = bucketMs * size;
  const every = TICK_STEPS_MS.find((step) => step >= bucketMs && (span / step) * 64 <= width) ?? 14 * 86_400_000;
  const shift = zone === "local" ? new Date(from).getTimezoneOffset() * 60_000 : 0;
  const out = [];
  for (let time = Math.ceil((from - shift) / every) * every + shift; time < from + span; time += every) {
    const iso = new Date(time).toISOString();
    const clock = timeOfDay(iso, zone).slice(0, 5);
    out.push({
      at: (time - from) / bucketMs,
      text: every >= 86_400_000 || clock === "00:00" ? dayMonth(iso, zone) : clock,
    });
  }
  return out;
}

function niceStep(raw: number): number {
  const size = 10 ** Math.floor(Math.log10(Math.max(raw, 1e-9)));
  const factor = [1, 2, 2.5, 5, 10].find((one) => one * size >= raw) ?? 10;
  return Math.max(1, Math.ceil(factor * size));
}
