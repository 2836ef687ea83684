/** The part of the query language that the browser needs: split, parse and format clauses. The server validates queries. */

/** A clause's position in a query, in UTF-16 units. */
export interface ClauseRange {
  text: string;
  start: number;
  end: number;
}

/** A parsed clause; a plain word has no field. */
export interface ParsedClause {
  field: string | null;
  values: string[];
  exclude: boolean;
}

// Spaces outside quotes separate clauses; an unclosed quote reaches to the end.
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

/** Format a clause. */
export function formatClause({ field, values, exclude }: ParsedClause): string {
  const list = values.map((value) => (BARE.test(value) ? value : quoted(value))).join(",");
  return `${exclude ? "-" : ""}${field === null ? "" : `${field}:`}${list}`;
}

/** Remove one value from a clause and keep the others as typed; null if it was the only one. */
export function withoutValue(clause: string, value: string): string | null {
  const [, minus = "", field = "", rest = ""] = CLAUSE.exec(clause) ?? [];
  const others = [...rest.matchAll(VALUE)].map((found) => found[0]).filter((raw) => unquoted(raw) !== value);
  return others.length > 0 ? `${minus}${field}:${others.join(",")}` : null;
}

/** Convert the server's character index to a UTF-16 index. */
export function toUtf16Index(text: string, toCharacterIndex: number): number {
  return [...text].slice(0, toCharacterIndex).join("").length;
}

/** Convert a UTF-16 index to the server's character index. */
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
