import { describe, expect, it } from "vitest";
import { MUTE_CHOICES, muteLabel, muteUntil, returnCondition } from "./mute";

const NOW = Date.parse("2026-11-21T03:12:30Z");
const NEVER = { at: null, until: null, events: null, rate: null, seen: 0 };

describe("the request body of a mute", () => {
  it("is a time, a number of events, a rate, or nothing", () => {
    expect(MUTE_CHOICES.map(({ value }) => muteUntil(value, 50, NOW))).toEqual([
      { until: "2026-11-21T04:12:30.000Z" },
      { until: "2026-11-21T11:12:30.000Z" },
      { until: "2026-11-22T03:12:30.000Z" },
      { until: "2026-11-28T03:12:30.000Z" },
      { events: 50 },
      { rate: 50 },
      {},
    ]);
  });
});

describe("the explanation in the dialog", () => {
  it("names the time, the number or the person that ends it", () => {
    expect(MUTE_CHOICES.map(({ value }) => returnCondition(value, 50)).slice(2)).toEqual([
      "returns automatically after 24 h",
      "returns automatically after 7 d",
      "returns automatically after 50 more events",
      "returns automatically after 50 events in one hour",
      "stays muted until somebody reopens it",
    ]);
  });
});

describe("the label of a muted group", () => {
  it("names each condition", () => {
    expect(muteLabel({ ...NEVER, until: "2026-11-21T04:12:30Z" }, "utc", NOW)).toBe("until 21 Nov 04:12");
    expect(muteLabel({ ...NEVER, events: 1200, seen: 3 }, "utc", NOW)).toBe("3 of 1,200 events so far");
    expect(muteLabel({ ...NEVER, rate: 1 }, "utc", NOW)).toBe("until 1 event in an hour");
    expect(muteLabel({ ...NEVER, until: "2026-11-21T04:12:30Z", rate: 50 }, "utc", NOW)).toBe(
      "until 21 Nov 04:12 or until 50 events in an hour",
    );
    expect(muteLabel(NEVER, "utc", NOW)).toBe("until somebody reopens it");
  });
});
