import { FIELDS } from "./fields";
import { formatClause, headerName } from "./query";

// Traits use the names of fields, with spaces.
const TERMS: ReadonlyMap<string, string> = new Map(FIELDS.map(({ name, term }) => [name.replaceAll("_", " "), term]));
const LITERALS = ["null", "true", "false"];
const CUT = 80; // the server cuts values at this length

/** Return the clause for records with this value; null if the query language has none. */
export function clauseOfTrait(field: string, value: string): string | null {
  if (value.length >= CUT || value === "missing") return null;
  const known = TERMS.get(field);
  if (known)
    return field === "key" && value === "null" ? null : formatClause({ field: known, values: [value], exclude: false });
  if (field.startsWith("header ")) return within(headerName(field.slice(7)), value);
  if (!field.startsWith("value.")) return null;
  if (!value.startsWith('"')) return within(field, value);
  const text = textOf(value);
  return text === null || LITERALS.includes(text) ? null : within(field, text);
}

function within(path: string, value: string): string {
  return formatClause({ field: path, values: [value], exclude: false });
}

function textOf(json: string): string | null {
  try {
    const text: unknown = JSON.parse(json);
    return typeof text === "string" && text !== "" ? text : null;
  } catch {
    return null;
  }
}
