import { expect, it } from "vitest";
import { isDecodable, mayNameSchema } from "./decodable";

it.each([
  ["\0\0\0\0\x05x", [], true],
  ["\x01sixteen bytes of a GUID", [], true],
  ["order-7", [], false],
  ["order-7", ["__key_schema_id"], true],
  ["order-7", ["apicurio.key.globalId"], true],
  ["order-7", ["__value_schema_id"], false],
  ["", ["__key_schema_id"], false],
])("the key %j with the headers %j may name a schema: %s", (key, headers, expected) => {
  expect(
    mayNameSchema(
      { base64: btoa(key) },
      headers.map((name) => ({ name })),
    ),
  ).toBe(expected);
});

it.each([
  [{ json: false }, [], true],
  [{ json: true }, [], false],
  [{ json: true }, ["__value_schema_id"], true], // text that a JSON Schema describes
  [{ json: true }, ["__key_schema_id"], false],
  [{ json: false, withheld: true }, [], false],
  [{ json: false, size: 0 }, [], false],
])("a value with %j and the headers %j is decodable: %s", (value, headers, expected) => {
  const key = { size: 0, withheld: false, json: false };
  const letter = { key, value: { ...key, size: 5, ...value }, headers: headers.map((name) => ({ name })) };
  expect(isDecodable(letter, "value")).toBe(expected);
});
