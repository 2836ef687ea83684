import { describe, expect, it } from "vitest";
import { CHOICES, muteUntil, muteWords, willReturn } from "./mute";

const NOW = Date.parse("2026-11-21T03:12:30Z");
const NEVER = { at: null, until: null, events: null, rate: null, seen: 0 };

describe("what is asked for", () => {
  it("is a time, a number of events, a rate, or nothing", () => {
    expect(CHOICES.map(({ value }) => muteUntil(value, 50, NOW))).toEqual([
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

describe("what muting will do", () => {
  it("names the time, the number or the person that ends it", () => {
    expect(CHOICES.map(({ value }) => willReturn(value, 50)).slice(2)).toEqual([
      "comes back by itself after 24 h",
      "comes back by itself after 7 d",
      "comes back by itself after 50 more events",
      "comes back by itself once 50 events came within an hour",
      "stays away until somebody reopens it",
    ]);
  });
});

describe("when a muted group comes back", () => {
  it("is said for each condition", () => {
    expect(muteWords({ ...NEVER, until: "2026-11-21T04:12:30Z" }, "utc", NOW)).toBe("until 21 Nov 04:12");
    expect(muteWords({ ...NEVER, events: 1200, seen: 3 }, "utc", NOW)).toBe("3 of 1,200 events so far");
    expect(muteWords({ ...NEVER, rate: 1 }, "utc", NOW)).toBe("until 1 event in an hour");
    expect(muteWords({ ...NEVER, until: "2026-11-21T04:12:30Z", rate: 50 }, "utc", NOW)).toBe(
      "until 21 Nov 04:12 or until 50 events in an hour",
    );
    expect(muteWords(NEVER, "utc", NOW)).toBe("until somebody reopens it");
  });
});
