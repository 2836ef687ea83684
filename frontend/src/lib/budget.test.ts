import { expect, it } from "vitest";
import { budgetUsed, budgetWords, budgetsOf } from "./budget";

it("a task that has reported no tolerance is not said to tolerate nothing", () => {
  expect(budgetWords(budgetsOf([{ tolerance: null }, { tolerance: {} }]))).toBe("not reported yet");
});

it("each task's budget is told apart", () => {
  const budgets = budgetsOf([{ tolerance: { limit: 5000, used: 253 } }, { tolerance: { limit: 5000, used: 242 } }]);
  expect(budgetWords(budgets)).toBe("4,747 and 4,758 of 5,000 left");
  expect(budgetUsed(budgets)).toBeCloseTo(0.0506);
});

it("no limit and no tolerance are opposite things", () => {
  expect(budgetWords([{ limit: -1, used: 3 }])).toBe("no limit");
  expect(budgetWords([{ limit: 0, used: 0 }])).toBe("0 tolerated: first error stops it");
});
