/** The filter of a list of dead letters, as stored in the page's URL. */
import { FIELDS, type Field, type FieldRow } from "./fields";
import type { Zone } from "./format";
import { withoutValue, clauseTexts, isGroup, parseClause, formatClause } from "./query";
import { ALL_TIME, inUtc } from "./ranges";

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
  const clauses: Clause[] = clauseTexts(params.get("q") ?? "").map((text, index) => ({
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

/** Return the filter as URL parameters: all clauses in order, and the indices of disabled ones. */
export function writeFilter(filter: Filter): URLSearchParams {
  const params = new URLSearchParams();
  const off = filter.clauses.flatMap((clause, index) => (clause.off ? [index] : []));
  if (filter.clauses.length > 0) params.set("q", filter.clauses.map((clause) => clause.text).join(" "));
  if (off.length > 0) params.set("off", off.join(","));
  if (filter.from !== DEFAULT_FROM) params.set("from", filter.from);
  if (filter.to !== "now") params.set("to", filter.to);
  return params;
}

/** Return the filter as API parameters, without disabled clauses. */
export function apiQuery(filter: Filter): string {
  const params = new URLSearchParams();
  const query = queryOf(filter);
  if (query) params.set("q", query);
  params.set("from", filter.from);
  params.set("to", filter.to);
  return params.toString();
}

/** Return the query text without disabled clauses. */
export function queryOf(filter: Filter): string {
  return filter.clauses
    .filter((clause) => !clause.off)
    .map((clause) => clause.text)
    .join(" ");
}

/** Return the query text with its time range, as saved searches store it. */
export function savedQuery(filter: Filter): string {
  const short = (bound: string) => RELATIVE.exec(bound)?.[1] ?? bound;
  const times = [`after:${short(filter.from)}`, ...(filter.to === "now" ? [] : [`before:${short(filter.to)}`])];
  return [queryOf(filter), ...times].filter(Boolean).join(" ");
}

/** Return the filter of a saved search. */
export function filterOfSaved(query: string): Filter {
  return withTyped({ clauses: [], from: DEFAULT_FROM, to: "now" }, query, "utc");
}

/** Return the only cluster that an address includes, if so. */
export function clusterOf(params: URLSearchParams): string | undefined {
  const found = readFilter(params)
    .clauses.filter((clause) => !clause.off)
    .map((clause) => parseClause(clause.text))
    .filter((one) => one.field === nameOf("cluster") && !one.exclude);
  const name = found.length === 1 && found[0]!.values.length === 1 ? found[0]!.values[0]! : undefined;
  return name?.endsWith("*") ? undefined : name;
}

/** Return the label of a field. */
export function labelOf(field: Field): string {
  return ROWS[field].label;
}

/** Return whether the filter includes or excludes a value, or null for neither. */
export function clauseState(filter: Filter, field: Field, value: string): "in" | "out" | null {
  const name = nameOf(field);
  const found = filter.clauses.find((clause) => !clause.off && hasValue(clause, name, valueOf(field, value)));
  if (!found) return null;
  return parseClause(found.text).exclude ? "out" : "in";
}

/** Add a clause, or remove it if it exists; the opposite clause is always removed. */
export function toggle(filter: Filter, field: Field, value: string, exclude: boolean): Filter {
  const there = clauseState(filter, field, value) === (exclude ? "out" : "in");
  const clauses = filter.clauses.flatMap((clause) => withoutClauseValue(clause, nameOf(field), valueOf(field, value)));
  return { ...filter, clauses: there ? clauses : [...clauses, { text: clauseOf(field, value, exclude), off: false }] };
}

/** Add typed text to the filter. `after:` and `before:` set the time range, in this zone. */
export function withTyped(filter: Filter, input: string, zone: Zone): Filter {
  return clauseTexts(input).reduce((sum, text) => {
    const { field, values, exclude } = parseClause(text);
    const time = values.length === 1 && !exclude ? values[0] : undefined;
    if (time && (field === "after" || field === "before") && isTime(time)) {
      const bound = RELATIVE.test(time) ? `now${RELATIVE.exec(time)?.[1]}` : inUtc(time, zone);
      return field === "after" ? { ...sum, from: bound } : { ...sum, to: bound };
    }
    return { ...sum, clauses: [...sum.clauses.filter((clause) => clause.text !== text), { text, off: false }] };
  }, filter);
}

/** Replace the active clauses by those of a query; disabled clauses stay. */
export function withQuery(filter: Filter, query: string, zone: Zone): Filter {
  return withTyped({ ...filter, clauses: filter.clauses.filter((clause) => clause.off) }, query, zone);
}

/** Return whether the query reads records' bytes, which is slow. */
export function readsRecordBytes(filter: Filter): boolean {
  return filter.clauses.some(
    ({ text, off }) =>
      !off &&
      (isGroup(text)
        ? /[\s(-](?:value|header)\.\S/.test(text)
        : /^(?:value|header)\../.test(parseClause(text).field ?? "")),
  );
}

/** Return the URL of the records page for one field and value. */
export function recordsWith(field: Field, value: string | number | null, from?: string): string {
  return recordsOf(value === null ? {} : { [field]: String(value) }, from);
}

/** Return the URL of the records page for several fields. */
export function recordsOf(values: Partial<Record<Field, string>>, from?: string): string {
  const params = new URLSearchParams(values);
  if (from !== undefined && from !== DEFAULT_FROM) params.set("from", from);
  const query = params.toString();
  return query ? `/records?${query}` : "/records";
}

/**
 * Return the API filter of a group's dead letters, of all times.
 *
 * A plan leaves out those that are not open. The filter does not say so: a frozen selection must keep matching the same
 * records, and open records change while they are replayed.
 */
export function groupRecordsOf(group: number): string {
  return new URLSearchParams({ group: String(group), from: ALL_TIME, to: "now" }).toString();
}

/** Return the clause without one value; nothing if it was the only one. */
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

/** Return the field's name in the query language. */
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
