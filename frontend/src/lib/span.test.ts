import { expect, it } from "vitest";
import { inSpan, narrowTo, readSpan, spanWords, widen, withSpan } from "./span";

const NOON = Date.UTC(2026, 10, 21, 12);
const narrowed = narrowTo(new URLSearchParams("range=24h&by=stage"), NOON, NOON + 3_600_000);
const widenedSpan = readSpan(widen(narrowed));

it("a drag stands in the address beside the range it came from", () => {
  expect(readSpan(narrowed)).toEqual({
    range: "24h",
    from: "2026-11-21T12:00:00.000Z",
    to: "2026-11-21T13:00:00.000Z",
    narrowed: true,
  });
  expect(narrowed.get("by")).toBe("stage");
});

it("widening gives the range back, or another one", () => {
  expect(widen(narrowed).toString()).toBe("range=24h&by=stage");
  expect(readSpan(widen(narrowed, "30d"))).toEqual({ range: "30d", from: "now-30d", to: "now", narrowed: false });
});

it("a time that ends before it begins, or is none, is not taken", () => {
  expect(readSpan(new URLSearchParams("from=2026-11-21&to=2026-11-20")).narrowed).toBe(false);
  expect(readSpan(new URLSearchParams("from=yesterday&to=today")).from).toBe("now-7d");
});

it("a figure links to its records in the same time", () => {
  expect(inSpan("/records?stage=TASK_PUT", readSpan(narrowed))).toBe(
    "/records?stage=TASK_PUT&from=2026-11-21T12%3A00%3A00.000Z&to=2026-11-21T13%3A00%3A00.000Z",
  );
  expect(inSpan("/records", readSpan(new URLSearchParams("range=1h")))).toBe("/records?from=now-1h");
  expect(inSpan("/records?group=7", readSpan(new URLSearchParams()))).toBe("/records?group=7");
});

it("another screen with ranges shows the same time, and can widen it as well", () => {
  const there = (address: string) => readSpan(new URLSearchParams(address.split("?")[1]));
  for (const span of [readSpan(narrowed), readSpan(new URLSearchParams("range=30d")), readSpan(new URLSearchParams())])
    expect(there(withSpan("/groups", span))).toEqual(span);
  expect(withSpan("/groups", readSpan(new URLSearchParams()))).toBe("/groups");
});

it("a chosen time is not called by its range", () => {
  expect([spanWords(readSpan(narrowed)), spanWords(widenedSpan)]).toEqual(["the chosen time", "the last 24 h"]);
});
