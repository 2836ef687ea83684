/** The time range of a screen: a selectable range, or a part of it after a drag. */
import { DEFAULT_FROM } from "./filter";
import { asRange, rangeWords, type Range } from "./ranges";

export interface Span {
  range: Range;
  from: string;
  to: string;
  /** Selected by a drag, so that a button can go back. */
  narrowed: boolean;
}

export function readSpan(params: URLSearchParams): Span {
  const range = asRange(params.get("range"));
  const [from, to] = [params.get("from"), params.get("to")];
  const own = from !== null && to !== null && Date.parse(from) < Date.parse(to);
  return own ? { range, from, to, narrowed: true } : { range, from: `now-${range}`, to: "now", narrowed: false };
}

export function narrowTo(params: URLSearchParams, from: number, to: number): URLSearchParams {
  const next = new URLSearchParams(params);
  next.set("from", new Date(from).toISOString());
  next.set("to", new Date(to).toISOString());
  return next;
}

/** Return to a selectable range; by default the one that was narrowed. */
export function widen(params: URLSearchParams, range?: Range): URLSearchParams {
  const next = new URLSearchParams(params);
  next.delete("from");
  next.delete("to");
  if (range) next.set("range", range);
  return next;
}

/** Format the time range: "the last 7 d", or "the chosen time". */
export function spanWords(span: Span): string {
  return span.narrowed ? "the chosen time" : rangeWords(span.range);
}

/** Add this time range to a URL of the records page. */
export function inSpan(address: string, span: Span): string {
  return withParams(address, { from: span.from !== DEFAULT_FROM && span.from, to: span.to !== "now" && span.to });
}

/** Add this time range to a URL of a page with selectable ranges. */
export function withSpan(address: string, span: Span): string {
  return withParams(address, {
    range: span.from !== DEFAULT_FROM && span.range,
    from: span.narrowed && span.from,
    to: span.narrowed && span.to,
  });
}

function withParams(address: string, values: Record<string, string | false>): string {
  const [path = "", query] = address.split("?");
  const params = new URLSearchParams(query);
  for (const [name, value] of Object.entries(values)) if (value !== false) params.set(name, value);
  return params.size > 0 ? `${path}?${params}` : path;
}
