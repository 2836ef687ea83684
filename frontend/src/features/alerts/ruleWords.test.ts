import { expect, it } from "vitest";
import type { ConditionKind, Delivery } from "../../api/alerts";
import { deliveryWords, duration, factRows, firedText, resultWords, ruleOf, subjectLink } from "./ruleWords";

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

it("the condition of an alert has the numbers of its rule, unless the rule was changed since", () => {
  const kinds = [{ kind: "records", text: "More than {more_than} records fail in the interval" }] as ConditionKind[];
  const alert = { condition: "records", started_at: "2026-11-28T10:00:00Z" };
  const rule = {
    conditions: [{ kind: "records" as const, more_than: 5, within_s: 86_400 as const }],
    updated_at: "2026-11-28T09:00:00Z",
  } as unknown as Parameters<typeof firedText>[1];
  expect(firedText(alert, rule, kinds)).toBe("More than 5 records fail in 24 h");
  expect(firedText({ ...alert, started_at: "2026-11-28T08:00:00Z" }, rule, kinds)).toBe("Many records fail");
  expect(firedText(alert, undefined, kinds)).toBe("Many records fail");
});

it("facts of a group have labels, and times that can be read", () => {
  expect(factRows({ group: 11, first_seen: "2026-11-28T10:00:00.001Z" }, "utc")).toEqual([
    ["Group", "11"],
    ["Group first seen", "28 Nov 10:00"],
  ]);
});

it("a result that ends a sentence can go on", () => {
  expect(resultWords("The mail server accepted it.")).toBe("The mail server accepted it");
});
