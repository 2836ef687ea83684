import { expect, it } from "vitest";
import { clauseOfTrait } from "./trait";

it.each([
  ["topic", "orders.dlq", "topic:orders.dlq"],
  ["origin partition", "3", "partition:3"],
  ["value.properties.gap", "null", "value.properties.gap:null"],
  ["value.net", '"ak"', "value.net:ak"],
  ["value.place", '"a \\"b\\""', 'value.place:"a \\"b\\""'],
  ["header trace-id", "x y", 'header.trace-id:"x y"'],
  ["header trace id", "x", 'header."trace id":x'],
  ['value."US Gross"', "1", 'value."US Gross":1'],
])("%s %s is found by %s", (field, value, clause) => expect(clauseOfTrait(field, value)).toBe(clause));

it.each([
  ["task", "0"],
  ["value.gap", "missing"],
  ["value", "not a JSON object"],
  ["value.net", '"null"'],
  ["key", "null"],
  ["value.long", `"${"x".repeat(80)}`],
])("%s %s has no clause", (field, value) => expect(clauseOfTrait(field, value)).toBeNull());
