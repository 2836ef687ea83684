import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { inApp, until } from "../../testing";
import { Overview } from "./Overview";

const CHOSEN_TIME = "from=2026-11-21T12%3A00%3A00.000Z&to=2026-11-21T13%3A00%3A00.000Z";
const TIMES = {
  from: "2026-11-21T12:00:00Z",
  to: "2026-11-21T13:00:00Z",
  bucket_ms: 60_000,
  series: [],
  rows: [],
  topics: 0,
  exact: true,
  week_before: null,
};
const REST = { connectors: ["early"], running: 1, tasks: 1, text: "early, 1 of 1 task", detail: "1 broker" };
const WORK = {
  ...{ open: 2, replaying: 1, passed: 5, set_aside: 0 },
  ...{ open_day_ago: 4, new_24h: 3, passed_24h: 5, set_aside_24h: 0 },
};
const NOW = Date.now();
const CONNECTORS = [
  {
    cluster: "engine",
    has_figures: true,
    name: "early",
    topics: [],
    tasks: [],
    state: "RUNNING",
    last_error_at: new Date(NOW - 9 * 86_400_000).toISOString(),
  },
  {
    cluster: "engine",
    has_figures: true,
    name: "late",
    topics: [],
    tasks: [],
    state: "RUNNING",
    last_error_at: new Date(NOW - 3 * 86_400_000).toISOString(),
  },
];
const ANSWERS: Record<string, object> = {
  "metrics/balance": {
    consumed: 4,
    delivered: 3,
    dead_lettered: 1,
    skipped: 0,
    filtered: 0,
    balanced: true,
    as_of: null,
    connectors: [],
  },
  "metrics/errors": TIMES,
  "metrics/heat": TIMES,
  "metrics/attention": {
    items: [],
    more: 0,
    dismissed: [],
    not_listed: [],
    strip: { failed_tasks: 0, failed: [], held: [], waiting: [], rest: REST },
    status: "ok",
    reasons: [],
    ok: "",
  },
  "metrics/open-work": { ...TIMES, open: [2], replaying: [1], passed: [0], set_aside: [0], new: [] },
  groups: { results: [], next: null, counts: {}, total_records: 0, took_ms: 1, exact: true },
  "metrics/stages": { connector: "late", stages: [], total_failed: 0 },
  "metrics/summary": {
    failing_topics: { count: 0, exact: true, watched: 1, names: [] },
    unresolved_groups: { count: 2, new: 0, regressed: 0 },
    errors_24h: { count: 0, mean_before: null, change_percent: null, days: [] },
    replays: { started: 0, failing: 0, newest: null },
    total: 0,
    work: WORK,
  },
  "dead-letters": {
    results: [{ id: 7, topic: "orders.dlq", failed_at: new Date(NOW - 3 * 86_400_000).toISOString() }],
    total: { count: 1, exact: true },
    partial: false,
  },
  "no dead letters": { results: [], total: { count: 0, exact: true }, partial: false },
  connectors: { clusters: [], nearest: [], results: CONNECTORS },
};

let root: Root;
let broken: boolean;
let hasOlder: boolean;

beforeEach(() => {
  broken = false;
  hasOlder = true;
  vi.stubGlobal(
    "fetch",
    vi.fn((url: string) => {
      const { pathname, searchParams } = new URL(url, "http://here");
      const isEmpty = !hasOlder && searchParams.get("to") === "now-1h";
      const path = isEmpty ? "no dead letters" : pathname.replace("/api/v1/", "");
      return Promise.resolve(
        new Response(JSON.stringify(broken ? { detail: "It broke." } : ANSWERS[path]), { status: broken ? 500 : 200 }),
      );
    }),
  );
});

afterEach(async () => {
  await act(() => root.unmount());
});

async function show(query: string): Promise<QueryClient> {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  root = createRoot(document.body.appendChild(document.createElement("div")));
  await act(() => root.render(inApp(client, <Overview />, `/?${query}`)));
  await until(() => document.querySelectorAll("[aria-busy=true]").length === 0);
  return client;
}

const text = () => document.body.textContent;

it("a chosen time without errors says so, when the last one was, and leads back", async () => {
  await show(`range=24h&${CHOSEN_TIME}`);
  expect(text()).toContain("No failures in the chosen time");
  expect(text()).toContain("Newest: 3 d ago, orders.dlq.");
  expect(
    [...document.querySelectorAll("button")].filter((one) => one.textContent === "Back to the last 24 h"),
  ).toHaveLength(2);
  expect(document.querySelectorAll("[aria-label=Time] input:checked")).toHaveLength(0);
  expect(document.title).toBe("Overview · dlqadmin");
});

it("the chosen time goes along to the groups, and what does not follow it says so", async () => {
  await show(`range=24h&${CHOSEN_TIME}`);
  expect(document.querySelector("a[href^='/groups?range']")?.getAttribute("href")).toBe(
    `/groups?range=24h&${CHOSEN_TIME}`,
  );
  for (const label of ["Balance", "Topics and connectors"])
    expect(document.querySelector(`[aria-label='${label}']`)?.textContent).toContain("since the start");
  expect(text()).toContain("late, stage by stage, since the start");
});

it("the open work adds up, and each state leads to its records", async () => {
  await show("range=24h");
  expect(text()).toContain("2 + 1 + 5 + 0 = 8 dead letters");
  expect(text()).toContain("4 a day ago, 3 new since");
  const targets = [...document.querySelectorAll("a[href*='work=']")].map((link) => link.getAttribute("href"));
  for (const state of ["open", "replaying", "passed", "set_aside"])
    expect(targets).toContain(`/records?work=${state}&from=now-2000w`);
});

it("a refresh that failed is said once", async () => {
  const client = await show("range=24h");
  broken = true;
  await act(() => client.refetchQueries());
  await until(() => text()?.includes("It broke."));
  expect(text()?.split("It broke.")).toHaveLength(2);
  expect(text()).toContain("of 1 watched");
});

it("without a time range it shows the smallest that has a dead letter", async () => {
  await show("by=stage");
  await until(() => document.querySelector("[aria-label=Time] input:checked") !== null);
  expect(document.querySelector<HTMLInputElement>("[aria-label=Time] input:checked")?.value).toBe("7d");
  const asked = vi.mocked(fetch).mock.calls.map(([url]) => String(url));
  expect(asked.filter((url) => url.includes("metrics/errors"))).toEqual([
    "/api/v1/metrics/errors?from=now-7d&to=now&by=stage",
  ]);
});

it.each([
  [true, "24h"],
  [false, "1h"],
])("if a dead letter is of the last hour, and older ones exist: %s, it is the last %s", async (older, range) => {
  hasOlder = older;
  const [row] = (ANSWERS["dead-letters"] as { results: { failed_at: string }[] }).results;
  const before = row!.failed_at;
  row!.failed_at = new Date(NOW - 50 * 60_000).toISOString();
  const client = await show("");
  await until(() => document.querySelector("[aria-label=Time] input:checked") !== null);
  row!.failed_at = before;
  await act(() => client.refetchQueries());
  expect(document.querySelector<HTMLInputElement>("[aria-label=Time] input:checked")?.value).toBe(range);
});
