/** Convert the rows of the bulk fix form to a program. Numbers keep their typed form, because parsing could round them. */

export type FormAct = "set" | "unset" | "cast" | "set_header" | "unset_header" | "set_key";
export type When = "always" | "null" | "missing" | "null_or_missing";
export type CastTo = "string" | "number" | "integer" | "boolean";

export interface FormRow {
  id: number;
  act: FormAct;
  /** A field's path, or a header's name. */
  name: string;
  value: string;
  when: When;
  to: CastTo;
}

export const freshRow = (id: number): FormRow => ({
  id,
  act: "set",
  name: "",
  value: "",
  when: "always",
  to: "number",
});

/** Return whether a required input of the row is empty. */
export function isOpen(row: FormRow): boolean {
  return row.act !== "set_key" && row.name.trim() === "";
}

/** Return the type of a typed value: its JSON type, or text if it is not JSON. */
export function valueKind(text: string): "text" | "number" | "true or false" | "null" | "object" | "array" {
  const parsed = parse(text);
  if (parsed === undefined || typeof parsed === "string") return "text";
  if (parsed === null) return "null";
  if (Array.isArray(parsed)) return "array";
  return typeof parsed === "object" ? "object" : typeof parsed === "number" ? "number" : "true or false";
}

/** Return the program of the complete rows; empty if there are none. */
export function programOf(rows: readonly FormRow[]): string {
  const lines = rows.filter((row) => !isOpen(row)).map(line);
  return lines.length === 0 ? "" : `[${lines.join(",")}]`;
}

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
const MARK = "\u0000"; // before a number that is kept as text; no typed text has it

/** The lines of a program that `programOf` wrote, numbers as they were typed; one open line for any other text. */
export function rowsOf(program: string): FormRow[] {
  const lines = parse(
    program.replace(TOKEN, (token) => (token.startsWith('"') ? token : JSON.stringify(MARK + token))),
  );
  if (!Array.isArray(lines) || lines.length === 0) return [freshRow(0)];
  return (lines as (Record<string, unknown> & Partial<Pick<FormRow, "act" | "when" | "to">>)[]).map((line, id) => {
    const { act = "set", when = "always", to = "number" } = line;
    const value = act === "set" ? typed(line.value) : ((line.value as string | undefined) ?? "");
    return { id, act, name: (line.path ?? line.name ?? "") as string, value, when, to };
  });
}

/** A value as it would be typed: text without quotes, unless it would be taken for JSON. */
function typed(value: unknown): string {
  if (value === undefined) return "";
  if (typeof value === "string" && !value.startsWith(MARK) && parse(value) === undefined) return value;
  return JSON.stringify(value).replace(/"\\u0000([^"]*)"/g, "$1");
}

function line({ act, name, value, when, to }: FormRow): string {
  const fields: [string, string][] = [["act", JSON.stringify(act)]];
  if (act === "set_header" || act === "unset_header") fields.push(["name", JSON.stringify(name)]);
  else if (act !== "set_key") fields.push(["path", JSON.stringify(name.trim())]);
  if (act === "set") fields.push(["value", parse(value) === undefined ? JSON.stringify(value) : value.trim()]);
  if (act === "set_header" || act === "set_key") fields.push(["value", JSON.stringify(value)]);
  if (act === "set" && when !== "always") fields.push(["when", JSON.stringify(when)]);
  if (act === "cast") fields.push(["to", JSON.stringify(to)]);
  return `{${fields.map(([key, text]) => `"${key}":${text}`).join(",")}}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
