/** What a list of dead letters is narrowed by, as it stands in the page's address. */
export interface Clause {
  field: Field;
  value: string;
  exclude: boolean;
  off: boolean;
}

export interface Filter {
  clauses: Clause[];
  text: string;
  from: string;
  to: string;
}

export const FIELDS = ["connector", "topic", "stage", "exception", "group", "origin_topic", "origin_partition", "key", "readable", "replay_state"] as const;
export type Field = (typeof FIELDS)[number];

export const DEFAULT_FROM = "now-7d";

export function readFilter(params: URLSearchParams): Filter {
  const clauses: Clause[] = [];
  for (const [name, value] of params) {
    const off = name.startsWith("off.");
    const bare = off ? name.slice(4) : name;
    const exclude = bare.startsWith("not_");
    const field = exclude ? bare.slice(4) : bare;
    if (isField(field) && value) clauses.push({ field, value, exclude, off });
  }
  return { clauses, text: params.get("text") ?? "", from: params.get("from") ?? DEFAULT_FROM, to: params.get("to") ?? "now" };
}

/** The filter as address parameters: everything, switched-off chips included. */
export function writeFilter(filter: Filter): URLSearchParams {
  const params = new URLSearchParams();
  for (const clause of filter.clauses) params.append((clause.off ? "off." : "") + nameOf(clause), clause.value);
  if (filter.text) params.set("text", filter.text);
  if (filter.from !== DEFAULT_FROM) params.set("from", filter.from);
  if (filter.to !== "now") params.set("to", filter.to);
  return params;
}

/** The filter as the API takes it: bounded in time, without what is switched off. */
export function askFilter(filter: Filter): string {
  const params = new URLSearchParams();
  for (const clause of filter.clauses) if (!clause.off) params.append(nameOf(clause), clause.value);
  if (filter.text) params.set("text", filter.text);
  params.set("from", filter.from);
  params.set("to", filter.to);
  return params.toString();
}

/** Adds the clause, or takes it away when it is there already; its opposite never stays beside it. */
export function toggle(filter: Filter, field: Field, value: string, exclude: boolean): Filter {
  const others = filter.clauses.filter((clause) => clause.field !== field || clause.value !== value);
  const there = filter.clauses.some((clause) => clause.field === field && clause.value === value && clause.exclude === exclude);
  return { ...filter, clauses: there ? others : [...others, { field, value, exclude, off: false }] };
}

/** What was typed: "stage:TASK_PUT" and "-stage:TASK_PUT" are clauses, anything else is text to search. */
export function typed(filter: Filter, input: string): Filter {
  const found = /^(-?)([a-z_]+):(.+)$/.exec(input.trim());
  const field = found?.[2];
  const value = found?.[3]?.trim();
  if (!field || !value || !isField(field)) return { ...filter, text: input.trim() };
  return toggle(filter, field, value, found[1] === "-");
}

/** An address of the records screen for one clause. */
export function recordsWith(field: Field, value: string | number | null, from?: string): string {
  const filter: Filter = { clauses: [], text: "", from: from ?? DEFAULT_FROM, to: "now" };
  if (value !== null) filter.clauses.push({ field, value: String(value), exclude: false, off: false });
  const query = writeFilter(filter).toString();
  return query ? `/records?${query}` : "/records";
}

function nameOf(clause: Clause): string {
  return (clause.exclude ? "not_" : "") + clause.field;
}

function isField(name: string): name is Field {
  return (FIELDS as readonly string[]).includes(name);
}
