import { dateMinute, type Zone } from "./format";

/** The selectable time ranges. */
export const RANGES = [
  { value: "1h", label: "1 h", words: "the last hour" },
  { value: "24h", label: "24 h", words: "the last 24 h" },
  { value: "7d", label: "7 d", words: "the last 7 d" },
  { value: "30d", label: "30 d", words: "the last 30 d" },
] as const;

/** The selectable time ranges of a screen that shows months. */
export const LONG_RANGES = [
  { value: "7d", label: "7 d", words: "the last 7 d" },
  { value: "30d", label: "30 d", words: "the last 30 d" },
  { value: "90d", label: "90 d", words: "the last 90 d" },
] as const;

/** A start before every record, for counts over all time. */
export const ALL_TIME = "now-2000w";

const ALL_RANGES = [...RANGES, ...LONG_RANGES];

export type Range = (typeof ALL_RANGES)[number]["value"];

export function asRange(text: string | null): Range {
  return ALL_RANGES.find((one) => one.value === text)?.value ?? "7d";
}

/** Return the smallest range that contains the moment; the largest one if none does. */
export function smallestRange(moment: string, now: number): Range {
  const age = now - Date.parse(moment);
  return RANGES.find((one) => age < agoOf(one.value))?.value ?? "30d";
}

export function rangeWords(range: Range): string {
  return ALL_RANGES.find((one) => one.value === range)?.words ?? range;
}

const SPANS = ["15m", "1h", "6h", "24h", "3d", "7d", "14d"] as const;
const UNIT_MS = { s: 1e3, m: 60e3, h: 3600e3, d: 86_400e3, w: 604_800e3 };
const ZONELESS = /^(\d{4}-\d\d-\d\d)(?:T(\d\d)(:\d\d(?::\d\d(?:\.\d+)?)?)?)?$/;

export interface Bounds {
  from: string;
  to: string;
}

/** Return the three longest shorter ranges with the same end, as suggestions after a time-out. */
export function shorterRanges({ from, to }: Bounds): (Bounds & { span: string })[] {
  const length = momentOf(to) - momentOf(from);
  const starts = (span: string) =>
    to === "now" ? { from: `now-${span}`, to } : { from: isoAt(momentOf(to) - agoOf(span)), to: isoAt(momentOf(to)) };
  return SPANS.filter((span) => agoOf(span) < length)
    .slice(-3)
    .reverse()
    .map((span) => ({ ...starts(span), span }));
}

/** Convert a time without a zone to UTC; other text stays unchanged. */
export function inUtc(time: string, zone: Zone): string {
  const [, day = "", hour = "00", rest = ":00"] = ZONELESS.exec(time) ?? [];
  const moment = isDay(day) ? Date.parse(`${day}T${hour}${rest}${zone === "utc" ? "Z" : ""}`) : NaN;
  return Number.isNaN(moment) ? time : isoAt(moment);
}

/** Format a time range: "in the last 7 d", "between 20 Nov 10:00 and 21 Nov 10:00". */
export function boundsWords({ from, to }: Bounds, zone: Zone): string {
  if (from === ALL_TIME && to === "now") return "since the start";
  const back = /^now-(\d+)([smhdw])$/.exec(from);
  if (to === "now" && back) return `in the last ${back[1]} ${back[2] === "m" ? "min" : back[2]}`;
  return `between ${boundWords(from, zone)} and ${boundWords(to, zone)}`;
}

/** Format one bound: relative bounds unchanged, absolute ones in the zone. */
export function boundWords(bound: string, zone: Zone): string {
  if (bound === ALL_TIME) return "the start";
  return bound.startsWith("now") ? bound : dateMinute(bound, zone);
}

/** Format a bound for an input of type datetime-local; empty if it is no time. */
export function inputValue(bound: string, zone: Zone): string {
  const moment = momentOf(bound);
  if (Number.isNaN(moment)) return "";
  const shift = zone === "utc" ? 0 : new Date(moment).getTimezoneOffset() * UNIT_MS.m;
  return new Date(moment - shift).toISOString().slice(0, 16);
}

/** Return the bound of an input of type datetime-local; an empty input means now. */
export function fromInput(value: string, zone: Zone): string {
  return value === "" ? "now" : inUtc(value, zone);
}

/** Return whether the range contains no moment. */
export function isRangeEmpty({ from, to }: Bounds): boolean {
  return momentOf(from) >= momentOf(to);
}

/** Return a bound in epoch milliseconds. */
function momentOf(bound: string): number {
  return bound.startsWith("now") ? Date.now() - agoOf(bound.slice(4)) : Date.parse(inUtc(bound, "utc"));
}

function agoOf(span: string): number {
  const found = /^(\d+)([smhdw])$/.exec(span);
  return found ? Number(found[1]) * UNIT_MS[found[2] as keyof typeof UNIT_MS] : 0;
}

/** Return whether the date exists; some browsers parse 31 February as 3 March. */
function isDay(text: string): boolean {
  const midnight = Date.parse(`${text}T00:00Z`);
  return !Number.isNaN(midnight) && isoAt(midnight).startsWith(text);
}

function isoAt(millis: number): string {
  return new Date(millis).toISOString().replace(".000Z", "Z");
}
