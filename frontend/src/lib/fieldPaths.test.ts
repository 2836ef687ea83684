import { expect, it } from "vitest";
import { freshRow } from "./bulkForm";
import { formName, nullQuery, pathText, rewritten, rewrittenRows, withField, type Path } from "./fieldPaths";

const GAP: Path = { name: "gap", jq: ".gap", pointer: "/gap" };
const NESTED: Path = { name: "properties.gap", jq: ".properties.gap", pointer: "/properties/gap" };
const ODD: Path = { name: "a.b[0]", jq: '.["a.b"][0]', pointer: "/a.b/0" };

it.each([
  [".gap //= 0", ".properties.gap //= 0"],
  [".gap //= 0 | .gapless = .gap", ".properties.gap //= 0 | .gapless = .properties.gap"],
  ["if .gap == null then .gap = 0 else . end", "if .properties.gap == null then .properties.gap = 0 else . end"],
  [".payload.gap = 1", ".payload.gap = 1"],
  [".lines[0].gap = 1", ".lines[0].gap = 1"],
])("puts another path into %s", (text, next) => {
  expect(rewritten(text, "jq", GAP, NESTED)).toBe(next);
});

it("puts another path into a patch, not into its values", () => {
  const text = '[{"op": "add", "path": "/gap", "value": "/gap"}, {"op":"test","path":"/gap/x","value":1}]';
  expect(rewritten(text, "patch", GAP, NESTED)).toBe(
    '[{"op": "add", "path": "/properties/gap", "value": "/gap"}, {"op":"test","path":"/gap/x","value":1}]',
  );
});

it("puts another path into the lines of a form, not into names of headers", () => {
  const rows = [
    { ...freshRow(0), name: "gap" },
    { ...freshRow(1), name: "gap", act: "set_header" as const },
  ];
  expect(rewrittenRows(rows, GAP, NESTED).map((row) => row.name)).toEqual(["properties.gap", "gap"]);
});

it("adds a field to the first open line, else a line", () => {
  const first = withField([freshRow(0)], NESTED, freshRow(1));
  expect(first.map((row) => row.name)).toEqual(["properties.gap"]);
  expect(withField(first, GAP, freshRow(1)).map((row) => row.name)).toEqual(["properties.gap", "gap"]);
});

it("writes a path for each kind of program", () => {
  expect(pathText(NESTED, "jq")).toBe(".properties.gap");
  expect(pathText(NESTED, "patch")).toBe('"/properties/gap"');
  expect(pathText(NESTED, "fields")).toBe("properties.gap");
  expect(formName(ODD)).toBe("/a.b/0");
});

it("asks for records with null, and quotes names that need it", () => {
  expect(nullQuery(NESTED)).toBe("value.properties.gap:null");
  expect(nullQuery(ODD)).toBe('value."a.b".0:null');
});
