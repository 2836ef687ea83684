import { afterEach, expect, it, vi } from "vitest";
import { boundsWords, fromInput, inputValue, isRangeEmpty, shorterRanges, smallestRange } from "./ranges";

afterEach(() => vi.unstubAllEnvs());

it.each([
  ["now-7d", "now", ["3d", "24h", "6h"]],
  ["now-24h", "now", ["6h", "1h", "15m"]],
  ["now-1h", "now", ["15m"]],
  ["now-5m", "now", []],
  ["2026-11-01", "2026-11-02T01:00:00Z", ["24h", "6h", "1h"]],
])("from %s to %s shorter ranges are %s", (from, to, spans) => {
  expect(shorterRanges({ from, to }).map((one) => one.span)).toEqual(spans);
});

it("a shorter range ends when the longer one does", () => {
  expect(shorterRanges({ from: "now-1h", to: "now" })).toEqual([{ from: "now-15m", to: "now", span: "15m" }]);
  expect(shorterRanges({ from: "2026-11-02T00:00", to: "2026-11-02T00:30" })).toEqual([
    { from: "2026-11-02T00:15:00Z", to: "2026-11-02T00:30:00Z", span: "15m" },
  ]);
});

it("bounds are told as people read them", () => {
  expect(boundsWords({ from: "now-7d", to: "now" }, "utc")).toBe("in the last 7 d");
  expect(boundsWords({ from: "2018-02-06T23:04:12Z", to: "2018-02-07T00:00:00Z" }, "utc")).toBe(
    "between 6 Feb 2018 23:04 and 7 Feb 2018 00:00",
  );
});

it.each([
  ["utc", "2026-11-20T10:30"],
  ["local", "2026-11-20T05:30"],
] as const)("an input shows a bound in the zone %s and reads it back", (zone, value) => {
  vi.stubEnv("TZ", "America/New_York");
  expect(inputValue("2026-11-20T10:30:00Z", zone)).toBe(value);
  expect(fromInput(value, zone)).toBe("2026-11-20T10:30:00Z");
});

it("an input without a time means now", () => {
  expect(fromInput("", "utc")).toBe("now");
  expect(inputValue("yesterday", "utc")).toBe("");
});

it("a range ends after it starts", () => {
  expect(isRangeEmpty({ from: "2026-11-20T10:30:00Z", to: "2026-11-20T10:30:00Z" })).toBe(true);
  expect(isRangeEmpty({ from: "now-1h", to: "now" })).toBe(false);
});

it.each([
  ["2026-11-21T02:12:31Z", "1h"],
  ["2026-11-21T02:12:30Z", "24h"],
  ["2026-11-19T03:12:30Z", "7d"],
  ["2026-11-01T03:12:30Z", "30d"],
  ["2025-11-01T03:12:30Z", "30d"],
])("the smallest range that contains %s is %s", (moment, range) => {
  expect(smallestRange(moment, Date.parse("2026-11-21T03:12:30Z"))).toBe(range);
});
