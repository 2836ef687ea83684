import { describe, expect, it } from "vitest";
import { clauseTexts, isGroup, toCharacterIndex, splitClauses, parseClause, toUtf16Index, formatClause } from "./query";

describe("a query is cut at its blanks", () => {
  it.each([
    ["", []],
    ["  a  b ", ["a", "b"]],
    ['topic:"a b",c "two words" x', ['topic:"a b",c', '"two words"', "x"]],
    ['a "not closed b', ["a", '"not closed b']],
    ['"a \\" b" c', ['"a \\" b"', "c"]],
    ["(a OR -(b c)) d", ["(a OR -(b c))", "d"]],
    ['-("a)" OR b) f(x) c', ['-("a)" OR b)', "f(x)", "c"]],
  ])("%s", (query, texts) => {
    expect(splitClauses(query).map((piece) => piece.text)).toEqual(texts);
  });
  it("and each piece knows where it stands", () => {
    for (const piece of splitClauses(' a  topic:"b c" '))
      expect(' a  topic:"b c" '.slice(piece.start, piece.end)).toBe(piece.text);
  });
});

it.each([
  ["stage:TASK_PUT", { field: "stage", values: ["TASK_PUT"], exclude: false }],
  ['-key:"a b",c', { field: "key", values: ["a b", "c"], exclude: true }],
  ["after:2026-11-20T10:00Z", { field: "after", values: ["2026-11-20T10:00Z"], exclude: false }],
  ['"two words"', { field: null, values: ["two words"], exclude: false }],
  ["failed:", { field: null, values: ["failed:"], exclude: false }],
  ["-gap", { field: null, values: ["gap"], exclude: true }],
])("what %s says", (clause, expected) => {
  expect(parseClause(clause)).toEqual(expected);
});

it.each([
  ["stage:A AND b", ["stage:A", "b"]],
  ["stage:A OR b c", ["(stage:A OR b c)"]],
  ["(a OR b) c", ["(a OR b)", "c"]],
  ['"a OR b"', ['"a OR b"']],
])("the clauses of %s", (query, texts) => {
  expect(clauseTexts(query)).toEqual(texts);
});

it.each([
  ["(a OR b)", true],
  ["-(a)", true],
  ["f(x)", false],
  ['"(a)"', false],
])("parentheses around %s: %s", (clause, expected) => {
  expect(isGroup(clause)).toBe(expected);
});

it.each(["a", "OR", "(a", "a)", "a b", 'a"b', "a\\", "a*", "a,b", "-a", "a:b", ""])(
  "a value %s is read as it was written",
  (value) => {
    const one = { field: "key", values: [value], exclude: true };
    if (value !== "") expect(parseClause(formatClause(one))).toEqual(one);
    expect(formatClause(one)).not.toMatch(/\s(?=[^"]*$)/);
  },
);

it("places count characters on the server and UTF-16 units here", () => {
  expect(toUtf16Index("😀 stag:x", 2)).toBe(3);
  expect(toCharacterIndex("😀 stag:x", 3)).toBe(2);
});
