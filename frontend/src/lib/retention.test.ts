import { describe, expect, it } from "vitest";
import { remainingWords, retentionSummary } from "./retention";

const NOW = Date.parse("2026-11-21T03:12:30Z");
const MINUTE = 60_000;
const none = { leaves: 0, overdue: 0, gone: 0, kept: 0, unknown: 0, soon: 0, next: null, reasons: [] };

describe("the time that remains", () => {
  it.each([
    [7 * 1440 * MINUTE - MINUTE, "6 d 23 h"],
    [1440 * MINUTE, "1 d"],
    [160 * MINUTE, "2 h 40 min"],
    [120 * MINUTE, "2 h"],
    [33.9 * MINUTE, "33 min"],
    [30_000, "30 s"],
    [-5, "0 ms"],
  ])("%d ms is %s", (millis, words) => expect(remainingWords(millis)).toBe(words));
});

describe("what is known of many records", () => {
  it("says when the next leaves, and how many are gone already", () => {
    expect(
      retentionSummary(
        { ...none, leaves: 3, gone: 2, next: new Date(NOW + 120 * MINUTE).toISOString() },
        "dead letter",
        NOW,
      ),
    ).toBe("2 dead letters gone, the next may leave in 2 h");
    expect(
      retentionSummary(
        { ...none, leaves: 3, next: new Date(NOW + (7 * 1440 - 60) * MINUTE).toISOString() },
        "dead letter",
        NOW,
      ),
    ).toBe("first dead letter may leave in 6 d 23 h");
  });
  it.each([
    [{ ...none, gone: 12 }, "all 12 origin records gone"],
    [{ ...none, kept: 3 }, "all 3 origin records kept forever"],
    [{ ...none, overdue: 1 }, "1 origin record may leave at any moment"],
    [{ ...none, unknown: 4, reasons: ["not_told"] }, "unknown of all 4 origin records: Kafka does not tell at present"],
    [
      { ...none, gone: 1, unknown: 2, reasons: ["no_timestamp", "no_topic", "not_told"] },
      "1 origin record gone, unknown of 2 origin records: the record has no timestamp; or Kafka does not tell at present",
    ],
    [none, "no origin record"],
  ])("%o reads %s", (tally, words) => expect(retentionSummary(tally, "origin record", NOW)).toBe(words));
});
