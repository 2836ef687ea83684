import { describe, expect, it, vi } from "vitest";
import {
  apiQuery,
  clusterOf,
  readsRecordBytes,
  savedQuery,
  withQuery,
  filterOfSaved,
  readFilter,
  recordsOf,
  recordsWith,
  clauseState,
  toggle,
  withTyped,
  writeFilter,
} from "./filter";

const read = (query: string) => readFilter(new URLSearchParams(query));
const texts = (query: string) => read(query).clauses.map((clause) => clause.text);

describe("a filter in the address", () => {
  it("survives being read and written", () => {
    const params = new URLSearchParams({
      q: 'connector:usgs-to-sql -stage:TASK_PUT "two words"',
      off: "0,2",
      from: "now-1h",
    });
    expect(writeFilter(readFilter(params)).toString()).toBe(params.toString());
  });
  it("keeps the places of its chips when one is switched off", () => {
    const [first, ...others] = read("q=a+b+c").clauses;
    const switched = writeFilter({ ...read(""), clauses: [{ ...first!, off: true }, ...others] });
    expect(readFilter(switched).clauses).toEqual([
      { text: "a", off: true },
      { text: "b", off: false },
      { text: "c", off: false },
    ]);
  });
  it("is bounded in time when nothing is said", () => {
    expect(apiQuery(read(""))).toBe("from=now-7d&to=now");
  });
  it("ignores what it does not know", () => {
    expect(texts("at=12&colour=red&stage=")).toEqual([]);
  });
  it("keeps a switched-off chip but does not ask for it", () => {
    expect(apiQuery(read("q=group:7+stage:TASK_PUT&off=0"))).toBe("q=stage%3ATASK_PUT&from=now-7d&to=now");
  });
  it("may have parameters instead of a query", () => {
    expect(texts("stage=TASK_PUT&not_key=a+b&off.group=7&readable=false&replay_state=none&text=not+null")).toEqual([
      "stage:TASK_PUT",
      '-key:"a b"',
      "group:7",
      "is:unreadable",
      "replay:none",
      '"not null"',
    ]);
    expect(read("off.group=7").clauses[0]?.off).toBe(true);
  });
});

describe("a facet's click", () => {
  it("includes, and a second one takes it away", () => {
    const once = toggle(read(""), "stage", "TASK_PUT", false);
    expect(once.clauses).toEqual([{ text: "stage:TASK_PUT", off: false }]);
    expect(clauseState(once, "stage", "TASK_PUT")).toBe("in");
    expect(toggle(once, "stage", "TASK_PUT", false).clauses).toEqual([]);
  });
  it("with Alt replaces an inclusion by an exclusion", () => {
    const excluded = toggle(read("stage=TASK_PUT"), "stage", "TASK_PUT", true);
    expect(excluded.clauses.map((clause) => clause.text)).toEqual(["-stage:TASK_PUT"]);
    expect(clauseState(excluded, "stage", "TASK_PUT")).toBe("out");
  });
  it("takes one value out of a list", () => {
    expect(toggle(read("q=topic:a,b*"), "topic", "a", false).clauses.map((clause) => clause.text)).toEqual([
      "topic:b*",
    ]);
  });
  it("writes a value that needs quotes in quotes", () => {
    expect(toggle(read(""), "connector", "a, b*", false).clauses[0]?.text).toBe('connector:"a, b*"');
  });
});

describe("what is typed", () => {
  it("is added clause by clause", () => {
    expect(
      withTyped(read("q=a"), 'stage:TASK_PUT -key:"b c" word', "utc").clauses.map((clause) => clause.text),
    ).toEqual(["a", "stage:TASK_PUT", '-key:"b c"', "word"]);
  });
  it("sets the time", () => {
    expect(withTyped(read(""), "after:-6h before:2026-11-20", "utc")).toEqual({
      clauses: [],
      from: "now-6h",
      to: "2026-11-20T00:00:00Z",
    });
  });
  it.each([
    ["2026-11-20", "2026-11-20T05:00:00Z"],
    ["2026-11-20T10", "2026-11-20T15:00:00Z"],
    ["2026-11-20T10:30", "2026-11-20T15:30:00Z"],
    ["2026-11-20T10:30:15.5", "2026-11-20T15:30:15.500Z"],
  ])("reads the time %s in the zone that is shown", (time, moment) => {
    vi.stubEnv("TZ", "America/New_York");
    expect(withTyped(read(""), `after:${time}`, "local").from).toBe(moment);
  });
  it.each(["2026-11-20T10:00Z", "2026-11-20T10:00+02:00", "2026-02-31"])("leaves %s as it is", (time) => {
    expect(withTyped(read(""), `after:${time}`, "local").from).toBe(time);
  });
  it("is left to the server when it is no time", () => {
    expect(withTyped(read(""), "after:yesterday", "utc").clauses).toEqual([{ text: "after:yesterday", off: false }]);
  });
});

it("a search that is kept opens as it was", () => {
  const filter = read("q=stage:TASK_PUT+gap&from=now-1h");
  expect(savedQuery(filter)).toBe("stage:TASK_PUT gap after:-1h");
  expect(filterOfSaved(savedQuery(filter))).toEqual(filter);
});

it("another query keeps the time and the clauses that are off", () => {
  expect(withQuery(read("q=key:a+stage:B&off=1&from=now-1h"), "key:a*", "utc")).toEqual({
    clauses: [
      { text: "stage:B", off: true },
      { text: "key:a*", off: false },
    ],
    from: "now-1h",
    to: "now",
  });
});

it("alternatives are one clause, so that others narrow all of them", () => {
  const filter = withTyped(read("q=stage:A+OR+stage:B"), "-topic:a", "utc");
  expect(filter.clauses.map(({ text }) => text)).toEqual(["(stage:A OR stage:B)", "-topic:a"]);
  expect(filterOfSaved(savedQuery(filter))).toEqual(filter);
  expect(readsRecordBytes(read("q=(value.a:1+OR+value.a:2)"))).toBe(true);
  expect(readsRecordBytes(filter)).toBe(false);
});

it("a look into bytes is known by its fields", () => {
  expect(readsRecordBytes(read("q=value.gap:null"))).toBe(true);
  expect(readsRecordBytes(read("q=value.gap:null+value&off=0"))).toBe(false);
});

it("a figure links to the records that it counts", () => {
  expect(recordsWith("group", 7, "now-1h")).toBe("/records?group=7&from=now-1h");
  expect(recordsOf({ connector: "a", stage: "TASK_PUT" })).toBe("/records?connector=a&stage=TASK_PUT");
  expect(recordsWith("group", null)).toBe("/records");
});

it("an address is of a cluster if it includes exactly one", () => {
  const of = (query: string) => clusterOf(new URLSearchParams(query));
  expect(of("cluster=eu")).toBe("eu");
  expect(of("q=cluster:eu stage:PUT")).toBe("eu");
  for (const other of ["", "not_cluster=eu", "q=cluster:eu*", "q=cluster:eu&off=0", "cluster=eu&cluster=us"])
    expect(of(other)).toBeUndefined();
});
