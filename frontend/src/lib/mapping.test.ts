import { expect, it } from "vitest";
import {
  coversTopic,
  formsOf,
  movedTo,
  suggestedName,
  withFact,
  type FactForms,
  type MappingDraft,
  type Source,
} from "./mapping";

const KINDS: FactForms[] = [
  { fact: "origin_offset", forms: ["integer", "int32", "int64"] },
  { fact: "message", forms: ["text"] },
  { fact: "value", forms: ["bytes", "json"] },
];
const PATH: Source = { header: null, json: "$.src.offset", letter: null, as: "int64", pick: "first", keep: false };

it("covers whole topics by names and patterns", () => {
  expect(coversTopic(["a.b", "*-errors"], "a.b")).toBe(true);
  expect(coversTopic(["a.b", "*-errors"], "axb")).toBe(false);
  expect(coversTopic(["a.b", "*-errors"], "x-errors")).toBe(true);
  expect(coversTopic(["*-errors"], "x-errors2")).toBe(false);
  expect(coversTopic([], "x")).toBe(false);
});

it("keeps the name of a source that moves", () => {
  const header = movedTo(PATH, "header");
  expect(header).toEqual({ header: "src.offset", json: null, letter: null, as: "int64", pick: "first", keep: false });
  expect(movedTo(header, "json")).toEqual({ ...PATH, as: null });
  expect(movedTo(PATH, "key").letter).toBe("key");
});

it("offers the forms that a place allows", () => {
  expect(formsOf(KINDS[0]!, PATH)).toEqual(["integer"]);
  expect(formsOf(KINDS[0]!, movedTo(PATH, "header"))).toEqual(["integer", "int32", "int64"]);
  expect(formsOf(KINDS[2]!, PATH)).toEqual(["bytes", "json"]);
  expect(formsOf(KINDS[2]!, movedTo({ ...PATH, as: "json" }, "header"))).toEqual(["bytes"]);
  expect(movedTo({ ...PATH, as: "json" }, "header").as).toBeNull();
});

it("keeps facts in their order, and removes them", () => {
  const draft: MappingDraft = { name: "a", topics: [], facts: [] };
  const both = withFact(
    withFact(draft, KINDS, "message", { required: false, sources: [PATH] }),
    KINDS,
    "origin_offset",
    { required: true, sources: [PATH] },
  );
  expect(both.facts.map((one) => one.fact)).toEqual(["origin_offset", "message"]);
  expect(withFact(both, KINDS, "origin_offset", null).facts.map((one) => one.fact)).toEqual(["message"]);
});

it("suggests a name that a mapping may have", () => {
  expect(suggestedName("Payments Errors", [])).toBe("payments-errors");
  expect(suggestedName("__x", [])).toBe("x");
  expect(suggestedName("a.dlq", ["a.dlq"])).toBe("a.dlq-2");
  expect(suggestedName("x".repeat(99), []).length).toBeLessThan(29);
});
