/** The filter of the audit screen, as stored in the page's URL. */
import type { Zone } from "../../lib/format";
import { inUtc } from "../../lib/ranges";
import { readSpan, widen } from "../../lib/span";

export const FIELDS = ["actor", "action", "type", "object", "outcome", "text"] as const;
export type AuditField = (typeof FIELDS)[number];

const DAY_MS = 86_400_000;

/** Return the filter as API parameters. Reads of payloads are left out unless the address asks for them. */
export function auditQuery(params: URLSearchParams): string {
  const span = readSpan(params);
  const query = new URLSearchParams();
  for (const field of FIELDS) {
    const value = params.get(field);
    if (value) query.set(field, value);
  }
  if (!showsReads(params)) query.set("reads", "false");
  query.set("from", span.from);
  query.set("to", span.to);
  return query.toString();
}

/** Return whether the list shows reads of payloads. */
export function showsReads(params: URLSearchParams): boolean {
  return params.get("reads") === "true";
}

/** Return whether a field narrows the list; the time range does not count. */
export function isFiltered(params: URLSearchParams): boolean {
  return FIELDS.some((field) => params.get(field));
}

/** Return the address with one parameter changed; an empty value removes it. */
export function withValue(params: URLSearchParams, name: AuditField | "reads", value: string): URLSearchParams {
  const next = new URLSearchParams(params);
  if (value) next.set(name, value);
  else next.delete(name);
  return next;
}

/** Return the address without filters; the time range and the switch stay. */
export function withoutFilters(params: URLSearchParams): URLSearchParams {
  const next = new URLSearchParams(params);
  for (const field of FIELDS) next.delete(field);
  return next;
}

/** Return the address with the days from `first` to `last`, both included, in a zone. Without a valid range the address has none. */
export function withDays(params: URLSearchParams, first: string, last: string, zone: Zone): URLSearchParams {
  const next = widen(params);
  if (!first || !last || first > last) return next;
  next.set("from", inUtc(first, zone));
  next.set("to", inUtc(dayAfter(last), zone));
  return next;
}

/** Return the first and the last day of a time range, as date inputs take them. */
export function daysOf(from: string, to: string, zone: Zone): { first: string; last: string } {
  const [start, end] = [Date.parse(from), Date.parse(to)];
  return { first: dayOf(start, zone), last: dayOf(end - 1, zone) };
}

/** Return the day of a moment in a zone: "2026-11-21". */
export function dayOf(millis: number, zone: Zone): string {
  const offsetMs = zone === "utc" ? 0 : new Date(millis).getTimezoneOffset() * 60_000;
  return new Date(millis - offsetMs).toISOString().slice(0, 10);
}

function dayAfter(day: string): string {
  return new Date(Date.parse(`${day}T00:00Z`) + DAY_MS).toISOString().slice(0, 10);
}
