/** A JSON syntax error (RFC 8259) with its character index. The parser checks only and builds no values. */
export interface JsonError {
  at: number;
  message: string;
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const SPACE = /[ \t\n\r]*/y;
const CHARACTERS = /[^"\\\u0000-\u001f]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

type Expected = "value" | "first value" | "first name" | "name" | "after";

export function jsonError(text: string): JsonError | null {
  const open: ("{" | "[")[] = [];
  let expect: Expected = "value";
  let at = skip(SPACE, text, 0);
  for (;;) {
    const char = text[at];
    if (expect === "after") {
      const inside = open.at(-1);
      if (inside === undefined)
        return char === undefined ? null : { at, message: "something follows the end of the value" };
      if (char === ",") {
        expect = inside === "{" ? "name" : "value";
        at += 1;
      } else if (char === (inside === "{" ? "}" : "]")) {
        open.pop();
        at += 1;
      } else
        return {
          at,
          message:
            char === undefined
              ? `the data ends inside ${inside === "{" ? "an object" : "an array"}`
              : `expected "," or "${inside === "{" ? "}" : "]"}"`,
        };
    } else if ((expect === "first name" && char === "}") || (expect === "first value" && char === "]")) {
      open.pop();
      expect = "after";
      at += 1;
    } else if (expect === "name" || expect === "first name") {
      if (char !== '"')
        return { at, message: char === undefined ? "the data ends inside an object" : "expected a name in quotes" };
      const end = quoted(text, at);
      if (typeof end !== "number") return end;
      at = skip(SPACE, text, end);
      if (text[at] !== ":") return { at, message: 'expected ":" after a name' };
      expect = "value";
      at += 1;
    } else if (char === "{" || char === "[") {
      open.push(char);
      expect = char === "{" ? "first name" : "first value";
      at += 1;
    } else if (char === '"') {
      const end = quoted(text, at);
      if (typeof end !== "number") return end;
      at = end;
      expect = "after";
    } else {
      const end = Math.max(skip(NUMBER, text, at), skip(WORD, text, at));
      if (end === at)
        return {
          at,
          message:
            char === undefined
              ? "the data ends where a value should stand"
              : char === "\ufeff"
                ? "a byte order mark is no JSON"
                : "expected a value",
        };
      at = end;
      expect = "after";
    }
    at = skip(SPACE, text, at);
  }
}

function quoted(text: string, start: number): number | JsonError {
  for (let at = start + 1; ;) {
    at = skip(CHARACTERS, text, at);
    const char = text[at];
    if (char === '"') return at + 1;
    if (char === undefined) return { at: start, message: "this string has no closing quote" };
    if (char !== "\\") return { at, message: "a control character inside a string" };
    const end = skip(ESCAPE, text, at);
    if (end === at) return { at, message: "no such escape" };
    at = end;
  }
}

function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
