import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { inApp, until } from "../../testing";
import { Trends } from "./Trends";

const DAY = 86_400_000;
const FROM = Date.parse("2026-11-01T00:00:00Z");
const SERIES = { label: "", stage: "", others: 0 };
const TREND = {
  from: new Date(FROM).toISOString(),
  to: new Date(FROM + 3 * DAY).toISOString(),
  bucket_ms: DAY,
  measure: "errors",
  by: "topic",
  series: [
    { ...SERIES, key: "orders.dlq", label: "orders.dlq", stage: "TASK_PUT", total: 9, points: [0, 4, 5] },
    { ...SERIES, key: "", label: "3 others", total: 2, points: [1, 1, 0], others: 3 },
  ],
  total: 11,
  week_before: { total: 6, points: [2, 2, 2] },
  exact: true,
};
const EVENT = { until: null, text: "", url: "", topic: "", connector: "", actor: "ci", source: "", removable: false };
const EVENTS = [
  { ...EVENT, id: "4", kind: "deploy", at: TREND.from, title: "release 4.2", url: "https://ci.test/7", replay: null },
  { ...EVENT, id: "replay-12", kind: "replay", at: TREND.to, title: "R-12: gap", replay: 12 },
];

let root: Root;
let asked: string[];
let answers: Record<string, object>;

beforeEach(() => {
  vi.useFakeTimers({ shouldAdvanceTime: false });
  asked = [];
  answers = { "metrics/trends": TREND, annotations: { results: EVENTS, complete: true } };
  vi.stubGlobal("fetch", (url: string) => {
    asked.push(url);
    const body = answers[url.replace(/^\/api\/v1\/|\?.*$/g, "")];
    const status = body ? 200 : 500;
    const problem = { title: "Error", status, detail: "The database does not respond." };
    return Promise.resolve(
      new Response(JSON.stringify(body ?? problem), { status, headers: { "Content-Type": "application/json" } }),
    );
  });
  root = createRoot(document.body.appendChild(document.createElement("div")));
});

afterEach(() => {
  act(() => root.unmount());
  document.body.replaceChildren();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function show(address: string) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  act(() => root.render(inApp(client, <Trends />, address)));
  await until(() => !document.querySelector("[aria-busy=true]"));
}

function text() {
  return document.body.textContent ?? "";
}

it("asks for the measure, split, filter and time of its address, beside the week before", async () => {
  await show("/trends?by=topic&range=90d&connector=usgs-to-sql");
  const query = new URLSearchParams(asked.find((url) => url.includes("metrics/trends"))!.split("?")[1]);
  expect(Object.fromEntries(query)).toEqual({
    measure: "errors",
    by: "topic",
    from: "now-90d",
    to: "now",
    connector: "usgs-to-sql",
    compare: "week",
  });
  expect(text()).toContain("Errors per day");
  expect(text()).toContain("a week before 6");
});

it("links a series to its records with the same filter and time", async () => {
  await show("/trends?by=topic&range=90d&connector=usgs-to-sql");
  const link = document.querySelector<HTMLAnchorElement>("a[title='orders.dlq']");
  expect(link?.getAttribute("href")).toBe("/records?connector=usgs-to-sql&topic=orders.dlq&from=now-90d");
  expect(document.querySelector("a[title='3 others']")).toBeNull();
});

it("leaves out splits that tasks do not report", async () => {
  await show("/trends?measure=lag&by=topic&topic=orders.dlq");
  const query = new URLSearchParams(asked.find((url) => url.includes("metrics/trends"))!.split("?")[1]);
  expect([query.get("by"), query.get("topic")]).toEqual(["none", null]);
  expect([...document.querySelectorAll("[aria-label='Split by'] label")].map((one) => one.textContent)).toEqual([
    "all",
    "connector",
  ]);
});

it("names the letters of the chart, newest first, and marks the focused one", async () => {
  await show("/trends?by=topic&range=30d");
  const rows = [...document.querySelectorAll("ol li")];
  expect(rows.map((row) => row.querySelector("i")?.textContent)).toEqual(["B", "A"]);
  expect(rows.map((row) => row.querySelector("a")?.getAttribute("href"))).toEqual(["/replays/12", "https://ci.test/7"]);
  const marked = () => document.querySelectorAll("svg g[class*=marked]").length;
  expect(marked()).toBe(0);
  act(() => (rows[0] as HTMLElement).focus());
  expect(marked()).toBe(1);
});

it("says what is empty, and how a pipeline reports an event", async () => {
  answers = {
    "metrics/trends": { ...TREND, series: [], total: 0, week_before: { total: 0, points: [0, 0, 0] } },
    annotations: { results: [], complete: true },
  };
  await show("/trends");
  expect(text()).toContain("No errors in the last 7 d");
  expect(text()).toContain("dlq annotate");
});

it("says what could not be loaded", async () => {
  answers = {};
  await show("/trends");
  expect(text().match(/The database does not respond\./g)).toHaveLength(2);
});
