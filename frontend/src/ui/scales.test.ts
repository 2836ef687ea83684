import { expect, it } from "vitest";
import { timeTicks } from "./scales";

const NINE = Date.parse("2026-11-22T09:00:00Z");
const MINUTE_MS = 60_000;

it("an axis of hours is marked by the hour, however wide it is", () => {
  expect(timeTicks(NINE, 60 * MINUTE_MS, 2, "utc", 1_000)).toEqual([
    { at: 0, text: "09:00" },
    { at: 1, text: "10:00" },
  ]);
});

it("midnight is marked by its date", () => {
  expect(timeTicks(NINE, 60 * MINUTE_MS, 48, "utc", 400).map(({ text }) => text)).toEqual([
    "12:00",
    "23 Nov",
    "12:00",
    "24 Nov",
  ]);
});

it("an axis of minutes is marked as often as there is room", () => {
  expect(timeTicks(NINE, MINUTE_MS, 60, "utc", 400).map(({ text }) => text)).toEqual([
    "09:00",
    "09:10",
    "09:20",
    "09:30",
    "09:40",
    "09:50",
  ]);
  expect(timeTicks(NINE, MINUTE_MS, 60, "utc", 140).map(({ text }) => text)).toEqual(["09:00", "09:30"]);
});
