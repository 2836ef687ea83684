import { expect, it } from "vitest";
import { spacedJson } from "./spacedJson";

it("what fits the line stays on it, and the rest has a line for each member", () => {
  const text =
    '{ "type":"record","fields":[{"name":"id", "type":"long"},{"name":"at","type":"long"}],"doc":"a, {b}: [c]" }';
  expect(spacedJson(text, 30)).toBe(
    [
      "{",
      '  "type": "record",',
      '  "fields": [',
      "    {",
      '      "name": "id",',
      '      "type": "long"',
      "    },",
      "    {",
      '      "name": "at",',
      '      "type": "long"',
      "    }",
      "  ],",
      '  "doc": "a, {b}: [c]"',
      "}",
    ].join("\n"),
  );
});

it.each(["9223372036854775807", "0.0", "1e400", '"\\u00e9\\"{"', "null", "[]", "{}"])(
  "a scalar keeps its text: %s",
  (scalar) => {
    expect(spacedJson(scalar, 1)).toBe(scalar);
    expect(spacedJson(`{"2":1,"1":${scalar}}`, 200)).toBe(`{"2":1,"1":${scalar}}`);
  },
);
