import { expect, it } from "vitest";
import { configChanges, parseConfig, rebased, toProperties } from "./properties";

it("properties are read as Java reads them", () => {
  const text =
    "# a comment\n! another\na=1\n b : two words \nc\\ d=x\\ty\\u00e9\ne=one,\\\n   two\nempty=\nurl=jdbc:x=1:2\n";
  expect(parseConfig(text)).toEqual({
    a: "1",
    b: "two words ",
    "c d": "x\tyé",
    e: "one,two",
    empty: "",
    url: "jdbc:x=1:2",
  });
});

it("what is written as properties is read as it was", () => {
  const config = { "a b": " x", "k=v": "c:\\dir\n", path: "a\\", plain: "${file:/s:p}" };
  expect(parseConfig(toProperties(config))).toEqual(config);
});

it("JSON is an object of options, or a connector of Kafka Connect", () => {
  expect(parseConfig('{"tasks.max": 2, "x": true, "y": null}')).toEqual({ "tasks.max": "2", x: "true" });
  expect(parseConfig('{"name": "c", "config": {"a": "1"}}')).toEqual({ name: "c", a: "1" });
});

it.each([
  ["=1", "Line 1 has no option name before its value."],
  ["a=1\na=2", "Line 2 sets a again."],
  ['{"a": {"b": 1}}', "a: the value must be text, not an object or a list."],
  ["{", "This is not JSON"],
])("%s is refused with a sentence", (text, sentence) => {
  expect(() => parseConfig(text)).toThrow(sentence);
});

it("own changes are kept when somebody else has changed the connector", () => {
  const opened = { a: "1", b: "1", c: "1" };
  const edited = { a: "2", c: "1", d: "4" };
  const current = { a: "1", b: "1", c: "9", e: "5" };
  expect(rebased(opened, edited, current)).toEqual({ a: "2", c: "9", d: "4", e: "5" });
  expect(configChanges(opened, edited).map((one) => one.option)).toEqual(["a", "b", "d"]);
});
