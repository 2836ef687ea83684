import { expect, it } from "vitest";
import { freshRow, programOf, rowsOf, valueKind } from "./bulkForm";

const row = freshRow(0);

it("a number stays as it is typed", () => {
  expect(programOf([{ ...row, name: "gap", value: "9007199254740993.10", when: "null" }])).toBe(
    '[{"act":"set","path":"gap","value":9007199254740993.10,"when":"null"}]',
  );
});

it("what is no JSON is text, and a header's value always is", () => {
  expect(programOf([{ ...row, name: "a", value: 'say "x"' }])).toBe('[{"act":"set","path":"a","value":"say \\"x\\""}]');
  expect(programOf([{ ...row, act: "set_header", name: "a", value: "1" }])).toBe(
    '[{"act":"set_header","name":"a","value":"1"}]',
  );
  expect(["1", "x", "", "null", "true", "[]", "{}", '"1"'].map(valueKind)).toEqual([
    "number",
    "text",
    "text",
    "null",
    "true or false",
    "array",
    "object",
    "text",
  ]);
});

it("a line without a name is left out", () => {
  expect(programOf([row])).toBe("");
  expect(
    programOf([
      row,
      { ...row, act: "set_key", value: "k" },
      { ...row, act: "cast", name: "t" },
      { ...row, act: "unset", name: "/a" },
    ]),
  ).toBe('[{"act":"set_key","value":"k"},{"act":"cast","path":"t","to":"number"},{"act":"unset","path":"/a"}]');
});

it.each([
  '[{"act":"set","path":"gap","value":9007199254740993.10,"when":"null"}]',
  '[{"act":"set","path":"a","value":{"b":[1.10,"1","x"]}}]',
  '[{"act":"set","path":"a","value":"1"},{"act":"set","path":"a","value":"say \\"x\\" 1"}]',
  '[{"act":"set_key","value":"k"},{"act":"set_header","name":"h","value":"1"},{"act":"unset_header","name":"h"}]',
  '[{"act":"cast","path":"t","to":"integer"},{"act":"unset","path":"/a"}]',
])("a program becomes the lines that it was written from: %s", (program) => {
  expect(programOf(rowsOf(program))).toBe(program);
});

it("another text is one open line", () => {
  expect([rowsOf(".gap"), rowsOf("[]"), rowsOf("{}")]).toEqual([[row], [row], [row]]);
});
