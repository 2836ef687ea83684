import { expect, it } from "vitest";
import { daysOf, withDays } from "./auditFilter";

it("includes both days of a range", () => {
  const params = withDays(new URLSearchParams("actor=ada&range=24h"), "2026-02-27", "2026-02-28", "utc");
  expect(Object.fromEntries(params)).toEqual({
    ...{ actor: "ada", range: "24h" },
    ...{ from: "2026-02-27T00:00:00Z", to: "2026-03-01T00:00:00Z" },
  });
  expect(daysOf(params.get("from")!, params.get("to")!, "utc")).toEqual({ first: "2026-02-27", last: "2026-02-28" });
});

it("reads the days back in the browser's own zone", () => {
  const params = withDays(new URLSearchParams(), "2026-06-01", "2026-06-01", "local");
  expect(daysOf(params.get("from")!, params.get("to")!, "local")).toEqual({ first: "2026-06-01", last: "2026-06-01" });
});

it.each([
  ["", "2026-01-01"],
  ["2026-01-02", "2026-01-01"],
])("has no range from %j to %j", (first, last) => {
  const from = "from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z";
  expect(withDays(new URLSearchParams(from), first, last, "utc").toString()).toBe("");
});
