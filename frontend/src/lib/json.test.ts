import { describe, expect, it } from "vitest";
import { jsonError } from "./json";

describe("JSON", () => {
  it.each([
    "0",
    "-1.5e+10",
    ' {"a":[1,2,{"b":null}],"a":true} \n',
    '""',
    "[]",
    "{}",
    '"\\u00e9\\n"',
    "9007199254740993",
    '{"a":{}}',
  ])("%s is valid", (text) => {
    expect(jsonError(text)).toBeNull();
  });
  it.each([
    ['{"a: 10}', 1],
    ['{"a" 10}', 5],
    ["", 0],
    ["[1,]", 3],
    ['{"a":1,}', 7],
    ["{,}", 1],
    ["01", 1],
    ["[1 2]", 3],
    ['"a\nb"', 2],
    ['"\\x"', 1],
    ["NaN", 0],
    ["{} {}", 3],
    ["[1", 2],
    ["\ufeff1", 0],
    ["'a'", 0],
    ["[}", 1],
  ])("%j fails at character %d", (text, at) => {
    expect(jsonError(text)?.at).toBe(at);
  });
  it("is judged as the browser does, however deep", () => {
    const deep = "[".repeat(50_000) + "]".repeat(50_000);
    expect(jsonError(deep)).toBeNull();
    expect(jsonError(deep.slice(1))?.at).toBe(deep.length - 2);
  });
});
