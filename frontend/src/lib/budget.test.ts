import { describe, expect, it } from "vitest";
import { budgetLines, handlerLines, noRiskWords, paceWords, worstTask } from "./budget";

describe("a task's budget in lines", () => {
  const of = (limit: number, used: number) => ({ limit, used, left: limit < 0 ? null : Math.max(0, limit - used) });
  const words = (
    total: ReturnType<typeof of> | null,
    rate: ReturnType<typeof of> | null,
    { window_ms = 60_000, risk = "within", decided_by = "limits" } = {},
  ) => budgetLines({ total, rate, window_ms, risk, decided_by }).map((line) => `${line.label}|${line.words}`);

  it.each([
    ["both limits", of(500, 252), of(10, 3), ["in all|248 of 500 left", "per minute|7 of 10 left"]],
    ["one limit", of(-1, 9), of(10, 3), ["per minute|7 of 10 left"]],
    ["no limit", of(-1, 9), of(-1, 0), ["|unlimited"]],
    ["no tolerance", of(0, 0), of(0, 0), ["0 in all and per minute|fails on the next error"]],
    ["no tolerance of the rate alone", of(500, 0), of(0, 0), ["0 per minute|fails on the next error"]],
    ["a limit that is reached", of(10, 10), of(-1, 0), ["in all|0 of 10 left: fails on the next error"]],
    ["nothing told", null, null, ["|not reported yet"]],
  ])("%s", (_, total, rate, expected) => {
    expect(words(total, rate)).toEqual(expected);
  });

  it("a handler decides in place of limits", () => {
    expect(words(null, null, { decided_by: "handlers", risk: "handler" })).toEqual(["|a handler decides"]);
    expect(words(null, null, { decided_by: "handlers", risk: "fail_fast" })).toEqual(["|fails on the next error"]);
    expect(words(null, null, { decided_by: "handlers", risk: "failed" })).toEqual(["|a handler decided"]);
  });

  it("a task that failed has no next error", () => {
    expect(words(of(10, 11), of(-1, 0), { risk: "failed" })).toEqual(["in all|0 of 10 left"]);
    expect(words(of(0, 1), of(-1, 0), { risk: "failed" })).toEqual(["0 in all|no error is tolerated"]);
  });

  it("the window is named in its largest unit", () => {
    expect(words(of(-1, 0), of(10, 0), { window_ms: 86_400_000 })).toEqual(["per day|10 of 10 left"]);
    expect(words(of(-1, 0), of(10, 0), { window_ms: 45_000 })).toEqual(["per 45 s|10 of 10 left"]);
  });
});

it("a pace is told as a length of time", () => {
  expect(paceWords(null)).toBeNull();
  expect(paceWords(36 * 60_000)).toBe("fails in about 36 min at this pace");
  expect(paceWords(2 ** 47)).toBe("fails in over a year at this pace");
});

it("handlers are told with the stages they decide about", () => {
  expect(handlerLines({ processing: "my.Handler", production: "Other" })).toEqual([
    { title: "processing: my.Handler", words: "transforms, processors and put: Handler" },
    { title: "production: Other", words: "converters that write, and produce: Other" },
  ]);
  expect(handlerLines({ poll: "H" })).toEqual([{ title: "poll: H", words: "poll: H" }]);
});

describe("a connector's tasks in one line", () => {
  const task = (id: number, risk: string, left: number | null = null) => ({ id, budget: { risk, left } });

  it("the task nearest to failing stands for them", () => {
    expect(worstTask([task(0, "unlimited"), task(1, "exhausted", 0), task(2, "within", 4)])?.id).toBe(1);
    expect(worstTask([task(0, "unknown"), task(1, "handler")])?.id).toBe(1);
    expect(worstTask([])).toBeUndefined();
  });

  it("of two alike the one with less left", () => {
    expect(worstTask([task(0, "within", 9), task(1, "within", 8), task(2, "within", 8)])?.id).toBe(1);
  });
});

describe("when no task is near to failing", () => {
  it.each<[string[], string]>([
    [["unused", "unused"], "No task has used any of its error budget, and none fails on its next error."],
    [[], "There is no task."],
    [["unknown", "unknown"], "No task is known to be near: 2 tasks have not reported."],
    [["unlimited"], "No task is known to be near: 1 task has no limits."],
    [["handler"], "No task is known to be near: a handler decides about 1 task."],
    [
      ["unused", "unknown", "unlimited", "handler"],
      "No task is known to be near: 1 task has not reported; 1 task has no limits; a handler decides about 1 task; 1 task has used none of its error budget.",
    ],
  ])("%j", (risks, words) => {
    expect(noRiskWords(risks)).toBe(words);
  });
});
