import { expect, it } from "vitest";
import { filterSummary } from "./filterSummary";

it("a summary lists the filters, then the time range", () => {
  expect(filterSummary("stage=TASK_PUT&not_key=abc&from=now-1h&to=now")).toBe(
    "stage TASK_PUT, not key abc; now-1h to now",
  );
});

it("a summary repeats a query of the query bar unchanged", () => {
  expect(filterSummary("q=topic%3Aorders*+-stage%3ATASK_PUT")).toBe("topic:orders* -stage:TASK_PUT; now-7d to now");
});

it("a summary without filters names all records", () => {
  expect(filterSummary("")).toBe("all records; now-7d to now");
});
