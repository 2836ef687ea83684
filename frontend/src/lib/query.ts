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

// An unclosed quote reaches to the end.
const TOKEN = /"(?:[^"\\]|\\[^])*(?:"|$)|[^]/gu;
// A quote may follow a dot of the name: value."US Gross":1.
const CLAUSE = /^(-?)(?:([^\W\d](?:[^\s:,"]|(?<=\.)"(?:[^"\\]|\\[^])*")*):(?=[^]))?([^]*)$/u;
const BARE_STEP = /^[^"\s:,.()]+$/u;
const BARE_HEADER = /^[^"\s:,()]+$/u;
const VALUE = /"((?:[^"\\]|\\[^])*)"?(\*?)|[^,]+/gu;
const BARE = /^(?![-"]|(?:OR|AND)$)[^\s,*:"\\()]+$/u;

/** Split a query at the spaces outside quotes and parentheses. */
export function splitClauses(query: string): ClauseRange[] {
  const found: ClauseRange[] = [];
  let depth = 0;
  let start = 0;
  const close = (end: number) => {
    if (end > start) found.push({ text: query.slice(start, end), start, end });
  };
  for (const { 0: token, index } of query.matchAll(TOKEN)) {
    if (token === "(") depth += 1;
    else if (token === ")") depth = Math.max(0, depth - 1);
    else if (depth === 0 && /^\s$/u.test(token)) {
      close(index);
      start = index + 1;
    }
  }
  close(query.length);
  return found;
}

/** Return the clauses of a query. Alternatives outside parentheses become one clause in parentheses. */
export function clauseTexts(query: string): string[] {
  const texts = splitClauses(query).map(({ text }) => text);
  if (texts.includes("OR")) return [`(${query.trim()})`];
  return texts.filter((text) => text !== "AND");
}

/** Return whether a clause is in parentheses. */
export function isGroup(clause: string): boolean {
  return /^-?\(/.test(clause);
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

/** Return the name of a member as a query writes it: value."US Gross".max */
export function memberName(steps: readonly string[]): string {
  return `value.${steps.map((step) => (BARE_STEP.test(step) ? step : quoted(step))).join(".")}`;
}

/** Return the name of a header as a query writes it. */
export function headerName(header: string): string {
  return `header.${BARE_HEADER.test(header) ? header : quoted(header)}`;
}

function quoted(value: string): string {
  return `"${value.replace(/["\\]/g, "\\$&")}"`;
}

function unquoted(text: string): string {
  const found = /^"((?:[^"\\]|\\[^])*)"(\*?)$/u.exec(text);
  return found ? (found[1] ?? "").replace(/\\([^])/gu, "$1") + found[2] : text;
}
