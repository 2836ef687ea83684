import { describe, expect, it } from "vitest";
import { budgetLines, budgetUsed, budgetWords, budgetsOf, paceWords } from "./budget";

it("a task that has reported no tolerance is not said to tolerate nothing", () => {
  expect(budgetWords(budgetsOf([{ tolerance: null }, { tolerance: {} }]))).toBe("not reported yet");
});

it("each task's budget is told apart", () => {
  const budgets = budgetsOf([{ tolerance: { limit: 5000, used: 253 } }, { tolerance: { limit: 5000, used: 242 } }]);
  expect(budgetWords(budgets)).toBe("4,747 and 4,758 of 5,000 left");
  expect(budgetUsed(budgets)).toBeCloseTo(0.0506);
});

it("no limit and no tolerance are opposite things", () => {
  expect(budgetWords([{ limit: -1, used: 3 }])).toBe("unlimited");
  expect(budgetWords([{ limit: 0, used: 0 }])).toBe("fails on the next error");
});

describe("a task's budget in lines", () => {
  const of = (limit: number, used: number) => ({ limit, used, left: limit < 0 ? null : Math.max(0, limit - used) });
  const words = (total: ReturnType<typeof of> | null, rate: ReturnType<typeof of> | null, { window_ms = 60_000, risk = "within", decided_by = "limits" } = {}) =>
    budgetLines({ total, rate, window_ms, risk, decided_by }).map((line) => `${line.label}|${line.words}`);

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
