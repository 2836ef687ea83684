import { describe, expect, it } from "vitest";
import { ago, bucket, bytes, count, dateTime, initials, percent, plural, quoted, span } from "./format";

const NOW = Date.parse("2026-11-21T03:12:30Z");

describe("numbers", () => {
  it("group thousands, and an unknown one is a dash", () => {
    expect(count(1732)).toBe("1,732");
    expect(count(null)).toBe("–");
  });
  it("are never divided by zero", () => {
    expect(percent(495, 1732)).toBe("28.6 %");
    expect(percent(0, 0)).toBe("–");
  });
  it("agree with their noun", () => {
    expect(plural(1, "record")).toBe("1 record");
    expect(plural(0, "retry", "retries")).toBe("0 retries");
  });
  it("of bytes say when there are none to count", () => {
    expect(bytes(715)).toBe("715 B");
    expect(bytes(20480)).toBe("20.5 kB");
    expect(bytes(null)).toBe("null");
  });
});

describe("times", () => {
  it("in UTC do not depend on where the browser is", () => {
    expect(dateTime("2026-11-21T03:04:12.043Z", "utc", NOW)).toBe("21 Nov 03:04:12");
  });
  it("of another year name it", () => {
    expect(dateTime("2018-02-06T23:04:12Z", "utc", NOW)).toBe("6 Feb 2018 23:04:12");
  });
  it("that are not times are a dash", () => {
    expect(dateTime("yesterday", "utc", NOW)).toBe("–");
  });
  it("ago are told in their largest fitting unit", () => {
    expect(ago("2026-11-21T03:12:29Z", NOW)).toBe("just now");
    expect(ago("2026-11-21T02:41:30Z", NOW)).toBe("31 min ago");
    expect(ago("2026-11-20T01:12:30Z", NOW)).toBe("26 h ago");
    expect(ago(null, NOW)).toBe("never");
  });
  it("spans and columns are told in words", () => {
    expect(span(780)).toBe("780 ms");
    expect(bucket(10_800_000)).toBe("3 hours");
    expect(bucket(60_000)).toBe("minute");
    expect(bucket(5_400_000)).toBe("1.5 hours");
  });
});

it("initials come from the parts of a name", () => {
  expect(initials("operator-1")).toBe("O1");
  expect(initials("ada")).toBe("AD");
});

it("a quotation ends its sentence once", () => {
  expect(quoted("test data")).toBe("“test data”.");
  expect(quoted("The columns may be null now.")).toBe("“The columns may be null now.”");
});
