/** Paths of fields in programs: written for each kind of program, inserted, and put in place of another one. */
import type { FormRow } from "./bulkForm";
import { memberName } from "./query";

/** A field as the API writes it. */
export interface Path {
  name: string;
  jq: string;
  pointer: string;
}

type Kind = "jq" | "patch" | "fields";

/** The path as a line of the form takes it: dotted if that is unambiguous, else a JSON Pointer. */
export function formName({ name, pointer }: Path): string {
  const steps = pointer.slice(1).split("/");
  const plain = steps.every((step) => /^[A-Za-z_][\w-]*$/.test(step));
  return plain ? name : pointer;
}

/** The path as it is typed into a program of this kind. */
export function pathText(path: Path, kind: Kind): string {
  if (kind === "jq") return path.jq;
  return kind === "patch" ? JSON.stringify(path.pointer) : formName(path);
}

/** The program with one path in place of another; other paths that begin or end alike stay. */
export function rewritten(text: string, kind: "jq" | "patch", from: Path, to: Path): string {
  if (kind === "jq") return text.replace(new RegExp(`(?<![\\w\\])"'?.])${escaped(from.jq)}(?!\\w)`, "g"), () => to.jq);
  const old = escaped(JSON.stringify(from.pointer));
  return text.replace(
    new RegExp(`("(?:path|from)"\\s*:\\s*)${old}`, "g"),
    (_, before: string) => `${before}${JSON.stringify(to.pointer)}`,
  );
}

/** The lines of a form with one path in place of another. */
export function rewrittenRows(rows: readonly FormRow[], from: Path, to: Path): FormRow[] {
  const names = new Set([from.name, from.pointer]);
  return rows.map((row) => (isOfValue(row) && names.has(row.name.trim()) ? { ...row, name: formName(to) } : row));
}

/** The lines of a form with this field in the first line that names none, else in a line of its own. */
export function withField(rows: readonly FormRow[], path: Path, fresh: FormRow): FormRow[] {
  const at = rows.findIndex((row) => isOfValue(row) && row.name.trim() === "");
  const name = formName(path);
  return at < 0 ? [...rows, { ...fresh, name }] : rows.map((row, index) => (index === at ? { ...row, name } : row));
}

/** The clause of the query language for records with null at this path. */
export function nullQuery({ pointer }: Path): string {
  const steps = pointer.slice(1).split("/");
  return `${memberName(steps.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~")))}:null`;
}

function isOfValue({ act }: FormRow): boolean {
  return act === "set" || act === "unset" || act === "cast";
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}
