import { expect, it } from "vitest";
import { failedAt } from "./stages";

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
