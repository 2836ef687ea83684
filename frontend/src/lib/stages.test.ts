import { expect, it } from "vitest";
import { failedAt, stageColour, stageColours } from "./stages";

const stage = (index: number, type: string, name: string, failed: number) => ({
  index,
  type,
  class: "C",
  name,
  failed,
});

it("a task of other stages has no failures of these", () => {
  const stages = [stage(0, "VALUE_CONVERTER", "", 3), stage(1, "PROCESSOR", "parse", 4)];
  expect(stages.map((own) => failedAt(own, stages))).toEqual([3, 4]);
  expect(failedAt(stage(1, "PROCESSOR", "enrich", 9), stages)).toBeUndefined();
  expect(failedAt(stage(1, "TASK_PUT", "parse", 9), stages)).toBeUndefined();
  expect(failedAt(stage(2, "TASK_PUT", "", 9), stages)).toBeUndefined();
});

it("nine series have nine colours, whatever their stages", () => {
  const all = Array.from({ length: 9 }, (_, index) => String(index));
  for (const stages of [
    ["TASK_PUT"],
    ["TASK_PUT", "VALUE_CONVERTER"],
    ["TASK_PUT", "PROCESSOR", "", "KAFKA_CONSUME"],
  ]) {
    const items = all.map((key, index) => ({ key, stage: stages[index % stages.length] ?? null }));
    expect(new Set(stageColours(items).values()).size).toBe(9);
  }
});

it("the first series of a stage has the stage's own colour", () => {
  const colours = stageColours(
    [..."12345"].map((key) => ({ key, stage: "TASK_PUT" })).concat({ key: "6", stage: "VALUE_CONVERTER" }),
  );
  expect([colours.get("1"), colours.get("6")]).toEqual([stageColour("TASK_PUT"), stageColour("VALUE_CONVERTER")]);
});
