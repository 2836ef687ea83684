import { expect, it } from "vitest";
import { boundsWords, shorterRanges } from "./ranges";

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
