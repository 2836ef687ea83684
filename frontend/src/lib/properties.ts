/** A configuration: the values of options by name, all of them text. */
export type Config = Readonly<Record<string, string>>;

export interface ConfigChange {
  option: string;
  before: string | undefined;
  after: string | undefined;
}

const ESCAPED: Record<string, string> = { n: "\n", t: "\t", r: "\r", f: "\f" };
const ESCAPES: Record<string, string> = { "\n": "\\n", "\t": "\\t", "\r": "\\r", "\f": "\\f", "\\": "\\\\" };

/** Return the options whose values differ, by name. */
export function configChanges(before: Config, after: Config): ConfigChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names
    .map((option) => ({ option, before: before[option], after: after[option] }))
    .filter((one) => one.before !== one.after);
}

/** Return the current configuration with the changes that lead from `opened` to `edited`. */
export function rebased(opened: Config, edited: Config, current: Config): Config {
  const result: Record<string, string> = { ...current };
  for (const { option, after } of configChanges(opened, edited)) {
    if (after === undefined) delete result[option];
    else result[option] = after;
  }
  return result;
}

/** Format a configuration as a Java properties file, by name. */
export function toProperties(config: Config): string {
  return Object.keys(config)
    .sort()
    .map((name) => `${escaped(name).replace(/[ =:#!]/g, "\\$&")}=${escaped(config[name]!).replace(/^ /, "\\ ")}\n`)
    .join("");
}

/**
 * Parse a Java properties file, or JSON: an object of options, or Kafka Connect's `{"name": …, "config": {…}}`.
 * Throws an Error with a sentence.
 */
export function parseConfig(text: string): Config {
  return text.trimStart().startsWith("{") ? parseJson(text) : parseProperties(text);
}

function parseJson(text: string): Config {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`This is not JSON: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
  const outer = value as Record<string, unknown>;
  const inner = typeof outer.config === "object" && outer.config !== null ? outer.config : undefined;
  const options = (inner ?? outer) as Record<string, unknown>;
  const named = inner && typeof outer.name === "string" ? { name: outer.name } : {};
  const entries = Object.entries(options).filter(([, one]) => one !== null);
  const nested = entries.find(([, one]) => typeof one === "object");
  if (nested) throw new Error(`${nested[0]}: the value must be text, not an object or a list.`);
  return { ...named, ...Object.fromEntries(entries.map(([name, one]) => [name, String(one)])) };
}

function parseProperties(text: string): Config {
  const config: Record<string, string> = {};
  const lines = text.split(/\r\n|\r|\n/);
  for (let at = 0; at < lines.length; at += 1) {
    const number = at + 1;
    let line = lines[at]!.trimStart();
    if (line === "" || line.startsWith("#") || line.startsWith("!")) continue;
    while (/(^|[^\\])(\\\\)*\\$/.test(line) && at + 1 < lines.length)
      line = line.slice(0, -1) + lines[++at]!.trimStart();
    const match = /^((?:\\.|[^\\=:\s])*)\s*[=:\s]?\s*(.*)$/su.exec(line)!;
    const name = unescaped(match[1]!);
    if (name === "") throw new Error(`Line ${number} has no option name before its value.`);
    if (name in config) throw new Error(`Line ${number} sets ${name} again.`);
    config[name] = unescaped(match[2]!);
  }
  return config;
}

function escaped(text: string): string {
  return text.replace(/[\\\n\t\r\f]/g, (one) => ESCAPES[one]!);
}

function unescaped(text: string): string {
  return text.replace(/\\(?:u([0-9a-fA-F]{4})|(.))/gsu, (_, code: string | undefined, one: string) =>
    code ? String.fromCharCode(parseInt(code, 16)) : (ESCAPED[one] ?? one),
  );
}
