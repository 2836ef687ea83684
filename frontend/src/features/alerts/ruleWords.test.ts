import { expect, it } from "vitest";
import type { Delivery } from "../../api/alerts";
import { deliveryWords, duration, ruleOf, subjectLink } from "./ruleWords";

const NOW = Date.parse("2026-11-28T10:00:00Z");

it("a length of time has the largest unit that leaves a whole number", () => {
  expect([45, 900, 5400, 3600, 86_400, 604_800].map(duration)).toEqual([
    "45 s",
    "15 min",
    "90 min",
    "1 h",
    "24 h",
    "7 d",
  ]);
});

it("a message that failed says when it is tried again", () => {
  const queued = { state: "queued", tries: 2, next_try_at: "2026-11-28T10:10:00Z", result: "503" } as Delivery;
  expect(deliveryWords(queued, "utc", NOW).label).toBe("try 2 failed, next at 10:10");
  expect(deliveryWords({ ...queued, tries: 0 }, "utc", NOW).label).toBe("being sent");
  expect(deliveryWords({ ...queued, state: "failed" }, "utc", NOW).label).toBe("refused: 503");
});

it("only the source of one rule names it", () => {
  expect([ruleOf("rule 12"), ruleOf("rules")]).toEqual([12, undefined]);
});

it("an alert leads to the page of its subject, never to another site", () => {
  const alert = { subject_kind: "replay", subject_key: "7", href: "/replays/7" };
  expect(subjectLink(alert)).toEqual({ to: "/replays/7", label: "Open replay" });
  expect(subjectLink({ ...alert, href: "https://evil.example" })).toBeNull();
});
