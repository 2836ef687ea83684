import { expect, it } from "vitest";
import { countEquation, faster, remainingMs, rateWords, reasonRows, shares, slower } from "./outcome";

const FIGURES = {
  total: 303,
  planned: 0,
  queued: 140,
  sending: 3,
  waiting: 13,
  passed: 139,
  failed_again: 3,
  unknown: 2,
  skipped: 3,
};

it("the figures of a replay add up in sight", () => {
  expect(countEquation(FIGURES, String)).toBe(
    "139 + 3 + 2 + 13 = 157 sent; 157 + 3 sending + 140 queued + 3 skipped = 303",
  );
});

it("the parts of the bar are all records", () => {
  expect(shares(FIGURES).reduce((sum, part) => sum + part.count, 0)).toBe(303);
});

it("what needs no reason is counted beside what has one", () => {
  const rows = reasonRows(FIGURES, [
    { state: "passed", reason: "filtered", count: 4 },
    { state: "unknown", reason: "no_group", count: 2 },
    { state: "sent", reason: "waiting", count: 13 },
  ]);
  expect(rows.filter((row) => row.state === "passed").map((row) => [row.reason, row.count])).toEqual([
    ["", 135],
    ["filtered", 4],
  ]);
  expect(rows.reduce((sum, row) => sum + row.count, 0)).toBe(303);
});

it("slower and faster go by steps, from no limit and back to it", () => {
  expect([slower(100), slower(3), slower(1), slower(0)]).toEqual([50, 2, 1, 5000]);
  expect([faster(100), faster(3), faster(5000), faster(0)]).toEqual([200, 5, 0, 0]);
  expect([rateWords(2), rateWords(0)]).toEqual(["2 / s", "no limit"]);
});

it("the rest takes as long as its rate says, and as nobody knows while it is paused or has no limit", () => {
  expect(remainingMs(FIGURES, 2, "running")).toBe(71_500);
  expect([
    remainingMs(FIGURES, 0, "running"),
    remainingMs(FIGURES, 2, "paused"),
    remainingMs({ ...FIGURES, queued: 0, sending: 0 }, 2, "running"),
  ]).toEqual([null, null, null]);
});
