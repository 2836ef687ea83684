/** What a list of dead letters is narrowed by, as it stands in the page's address. */
import { FIELDS, type Field, type FieldRow } from "./fields";
import type { Zone } from "./format";
import { withoutValue, splitClauses, parseClause, formatClause } from "./query";
import { inUtc } from "./ranges";

/** One chip of the query bar: a clause of the query language. */
export interface Clause {
  text: string;
  off: boolean;
}

export interface Filter {
  clauses: Clause[];
  from: string;
  to: string;
}

export type { Field };

const ROWS = Object.fromEntries(FIELDS.map((row) => [row.name, row])) as Record<Field, FieldRow>;
export const DEFAULT_FROM = "now-7d";
const RELATIVE = /^(?:now)?(-\d{1,6}[smhdw])$/;

export function readFilter(params: URLSearchParams): Filter {
  const off = new Set((params.get("off") ?? "").split(","));
  const clauses: Clause[] = splitClauses(params.get("q") ?? "").map(({ text }, index) => ({
    text,
    off: off.has(String(index)),
  }));
  for (const [name, value] of params) {
    const isOff = name.startsWith("off.");
    const bare = isOff ? name.slice(4) : name;
    const exclude = bare.startsWith("not_");
    const field = exclude ? bare.slice(4) : bare;
    if (isField(field) && value) clauses.push({ text: clauseOf(field, value, exclude), off: isOff });
    if (name === "text" && value)
      clauses.push({ text: formatClause({ field: null, values: [value], exclude: false }), off: false });
  }
  return {
    clauses,
    from: inUtc(params.get("from") ?? DEFAULT_FROM, "utc"),
    to: inUtc(params.get("to") ?? "now", "utc"),
  };
}

/** The filter as address parameters: all chips in their order, and the places of those that are switched off. */
export function writeFilter(filter: Filter): URLSearchParams {
  const params = new URLSearchParams();
  const off = filter.clauses.flatMap((clause, index) => (clause.off ? [index] : []));
  if (filter.clauses.length > 0) params.set("q", filter.clauses.map((clause) => clause.text).join(" "));
  if (off.length > 0) params.set("off", off.join(","));
  if (filter.from !== DEFAULT_FROM) params.set("from", filter.from);
  if (filter.to !== "now") params.set("to", filter.to);
  return params;
}

/** The filter as the API takes it: bounded in time, without what is switched off. */
export function apiQuery(filter: Filter): string {
  const params = new URLSearchParams();
  const query = queryOf(filter);
  if (query) params.set("q", query);
  params.set("from", filter.from);
  params.set("to", filter.to);
  return params.toString();
}

/** The query as one text, without what is switched off. */
export function queryOf(filter: Filter): string {
  return filter.clauses
    .filter((clause) => !clause.off)
    .map((clause) => clause.text)
    .join(" ");
}

/** The query with its time, as it is kept for later. */
export function savedQuery(filter: Filter): string {
  const short = (bound: string) => RELATIVE.exec(bound)?.[1] ?? bound;
  const times = [`after:${short(filter.from)}`, ...(filter.to === "now" ? [] : [`before:${short(filter.to)}`])];
  return [queryOf(filter), ...times].filter(Boolean).join(" ");
}

/** A query that was kept, in place of everything. */
export function filterOfSaved(query: string): Filter {
  return withTyped({ clauses: [], from: DEFAULT_FROM, to: "now" }, query, "utc");
}

/** The field's name on screens. */
export function labelOf(field: Field): string {
  return ROWS[field].label;
}

/** How a facet's value stands in the filter: included, excluded, or not at all. */
export function clauseState(filter: Filter, field: Field, value: string): "in" | "out" | null {
  const name = nameOf(field);
  const found = filter.clauses.find((clause) => !clause.off && hasValue(clause, name, valueOf(field, value)));
  if (!found) return null;
  return parseClause(found.text).exclude ? "out" : "in";
}

/** Adds the clause, or takes it away when it is there already; its opposite never stays beside it. */
export function toggle(filter: Filter, field: Field, value: string, exclude: boolean): Filter {
  const there = clauseState(filter, field, value) === (exclude ? "out" : "in");
  const clauses = filter.clauses.flatMap((clause) => withoutClauseValue(clause, nameOf(field), valueOf(field, value)));
  return { ...filter, clauses: there ? clauses : [...clauses, { text: clauseOf(field, value, exclude), off: false }] };
}

/** What was typed, added to the filter; a time, read in the zone, becomes the filter's own. */
export function withTyped(filter: Filter, input: string, zone: Zone): Filter {
  return splitClauses(input).reduce((sum, { text }) => {
    const { field, values, exclude } = parseClause(text);
    const time = values.length === 1 && !exclude ? values[0] : undefined;
    if (time && (field === "after" || field === "before") && isTime(time)) {
      const bound = RELATIVE.test(time) ? `now${RELATIVE.exec(time)?.[1]}` : inUtc(time, zone);
      return field === "after" ? { ...sum, from: bound } : { ...sum, to: bound };
    }
    return { ...sum, clauses: [...sum.clauses.filter((clause) => clause.text !== text), { text, off: false }] };
  }, filter);
}

/** Whether the bytes of records must be looked into, which takes its time. */
export function readsRecordBytes(filter: Filter): boolean {
  return filter.clauses.some(
    (clause) => !clause.off && /^(?:value|header)\../.test(parseClause(clause.text).field ?? ""),
  );
}

/** An address of the records screen for one clause. */
export function recordsWith(field: Field, value: string | number | null, from?: string): string {
  return recordsOf(value === null ? {} : { [field]: String(value) }, from);
}

/** An address of the records screen for some clauses. */
export function recordsOf(values: Partial<Record<Field, string>>, from?: string): string {
  const params = new URLSearchParams(values);
  if (from !== undefined && from !== DEFAULT_FROM) params.set("from", from);
  const query = params.toString();
  return query ? `/records?${query}` : "/records";
}

/** The clause without one of its values; none when that was its only one. */
function withoutClauseValue(clause: Clause, name: string, value: string): Clause[] {
  if (!hasValue(clause, name, value)) return [clause];
  const text = withoutValue(clause.text, value);
  return text === null ? [] : [{ ...clause, text }];
}

function hasValue(clause: Clause, name: string, value: string): boolean {
  const { field, values } = parseClause(clause.text);
  return field === name && values.includes(value);
}

function clauseOf(field: Field, value: string, exclude: boolean): string {
  return formatClause({ field: nameOf(field), values: [valueOf(field, value)], exclude });
}

/** The field's name in a query. */
function nameOf(field: Field): string {
  return ROWS[field].term;
}

function valueOf(field: Field, value: string): string {
  const { words } = ROWS[field];
  return words && Object.hasOwn(words, value) ? words[value]! : value;
}

function isTime(text: string): boolean {
  return text === "now" || RELATIVE.test(text) || /^\d{4}-\d\d-\d\d(?:T|$)/.test(text);
}

function isField(name: string): name is Field {
  return Object.hasOwn(ROWS, name);
}
