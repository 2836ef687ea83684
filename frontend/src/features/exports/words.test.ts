import { expect, it } from "vitest";
import { wordsOf } from "./words";

it("a filter reads as words, and its time at the end", () => {
  expect(wordsOf("stage=TASK_PUT&not_key=abc&from=now-1h&to=now")).toBe("stage TASK_PUT, not key abc; now-1h to now");
});

it("a query of the query bar stands as it was typed", () => {
  expect(wordsOf("q=topic%3Aorders*+-stage%3ATASK_PUT")).toBe("topic:orders* -stage:TASK_PUT; now-7d to now");
});

it("no filter is all records", () => {
  expect(wordsOf("")).toBe("all records; now-7d to now");
});
