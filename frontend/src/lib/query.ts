/** The query language as far as the browser needs it: clauses cut apart, shown and written. The server reads and checks it. */

/** Where a clause stands in a query; indices count UTF-16 units. */
export interface ClauseRange {
  text: string;
  start: number;
  end: number;
}

/** What a clause says; a word has no field. */
export interface ParsedClause {
  field: string | null;
  values: string[];
  exclude: boolean;
}

// Blanks part clauses, except within quotes; a quote that is not closed reaches to the end.
const PIECE = /(?:"(?:[^"\\]|\\[^])*(?:"|$)|[^\s"])+/gu;
const CLAUSE = /^(-?)(?:([^\W\d][^\s:,"]*):(?=[^]))?([^]*)$/u;
const VALUE = /"((?:[^"\\]|\\[^])*)"?(\*?)|[^,]+/gu;
const BARE = /^(?![-"])[^\s,*:"\\]+$/u;

export function splitClauses(query: string): ClauseRange[] {
  return [...query.matchAll(PIECE)].map((found) => ({
    text: found[0],
    start: found.index,
    end: found.index + found[0].length,
  }));
}

export function parseClause(clause: string): ParsedClause {
  const [, minus, field, rest = ""] = CLAUSE.exec(clause) ?? [];
  const values = field === undefined ? [unquoted(rest)] : [...rest.matchAll(VALUE)].map((found) => unquoted(found[0]));
  return { field: field ?? null, values, exclude: minus === "-" };
}

/** The clause that says so. */
export function formatClause({ field, values, exclude }: ParsedClause): string {
  const list = values.map((value) => (BARE.test(value) ? value : quoted(value))).join(",");
  return `${exclude ? "-" : ""}${field === null ? "" : `${field}:`}${list}`;
}

/** The clause without one of its values, the others as they are written; null when that was its only one. */
export function withoutValue(clause: string, value: string): string | null {
  const [, minus = "", field = "", rest = ""] = CLAUSE.exec(clause) ?? [];
  const others = [...rest.matchAll(VALUE)].map((found) => found[0]).filter((raw) => unquoted(raw) !== value);
  return others.length > 0 ? `${minus}${field}:${others.join(",")}` : null;
}

/** From the server's count of characters to the browser's of UTF-16 units. */
export function toUtf16Index(text: string, toCharacterIndex: number): number {
  return [...text].slice(0, toCharacterIndex).join("").length;
}

/** The other way round. */
export function toCharacterIndex(text: string, at: number): number {
  return [...text.slice(0, at)].length;
}

function quoted(value: string): string {
  return `"${value.replace(/["\\]/g, "\\$&")}"`;
}

function unquoted(text: string): string {
  const found = /^"((?:[^"\\]|\\[^])*)"(\*?)$/u.exec(text);
  return found ? (found[1] ?? "").replace(/\\([^])/gu, "$1") + found[2] : text;
}
