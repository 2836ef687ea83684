import { describe, expect, it } from "vitest";
import { askFilter, readFilter, recordsWith, toggle, typed, writeFilter } from "./filter";

const read = (query: string) => readFilter(new URLSearchParams(query));

describe("a filter in the address", () => {
  it("survives being read and written", () => {
    const query = "connector=usgs-to-sql&not_stage=TASK_PUT&off.group=7&text=gap&from=now-1h";
    expect(writeFilter(read(query)).toString()).toBe(query);
  });
  it("is bounded in time when nothing is said", () => {
    expect(askFilter(read(""))).toBe("from=now-7d&to=now");
  });
  it("ignores what it does not know", () => {
    expect(read("at=12&colour=red&stage=").clauses).toEqual([]);
  });
  it("keeps a switched-off chip but does not ask for it", () => {
    expect(askFilter(read("off.group=7&stage=TASK_PUT"))).toBe("stage=TASK_PUT&from=now-7d&to=now");
  });
});

describe("a facet's click", () => {
  it("includes, and a second one takes it away", () => {
    const once = toggle(read(""), "stage", "TASK_PUT", false);
    expect(writeFilter(once).toString()).toBe("stage=TASK_PUT");
    expect(toggle(once, "stage", "TASK_PUT", false).clauses).toEqual([]);
  });
  it("with Alt replaces an inclusion by an exclusion", () => {
    expect(writeFilter(toggle(read("stage=TASK_PUT"), "stage", "TASK_PUT", true)).toString()).toBe("not_stage=TASK_PUT");
  });
});

describe("what is typed", () => {
  it("with a field is a clause", () => {
    expect(writeFilter(typed(read(""), "stage:TASK_PUT")).toString()).toBe("stage=TASK_PUT");
    expect(writeFilter(typed(read(""), "-key:ak 1")).toString()).toBe("not_key=ak+1");
  });
  it("otherwise is text to search, colons included", () => {
    expect(typed(read(""), "NOT NULL constraint failed: gap").text).toBe("NOT NULL constraint failed: gap");
  });
});

it("a figure links to the records that it counts", () => {
  expect(recordsWith("group", 7, "now-1h")).toBe("/records?group=7&from=now-1h");
});
