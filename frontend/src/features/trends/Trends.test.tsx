import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { enter, inApp, until } from "../../testing";
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
const FACETS = {
  facets: {
    topic: [
      { value: "orders.dlq", label: "orders.dlq", count: 9 },
      { value: "stations.dlq", label: "stations.dlq", count: 2 },
    ],
    group: [{ value: "12", label: "gap null", count: 9 }],
  },
};

let root: Root;
let asked: string[];
let deleted: string[];
let answers: Record<string, object>;

beforeEach(() => {
  vi.useFakeTimers({ shouldAdvanceTime: false });
  asked = [];
  deleted = [];
  answers = {
    "metrics/trends": TREND,
    "dead-letters/facets": FACETS,
    session: { role: "operator" },
    connectors: { results: [{ name: "quiet-sink" }] },
    annotations: { results: EVENTS, complete: true },
  };
  vi.stubGlobal("fetch", (url: string, init?: RequestInit) => {
    if (init?.method === "DELETE") {
      deleted.push(url);
      return Promise.resolve(new Response(null, { status: 204 }));
    }
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

function button(label: string) {
  return [...document.querySelectorAll("button")].find((one) => one.textContent === label)!;
}

function press(element: Element, key: string) {
  act(() => void element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })));
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
  await show("/trends?measure=lag&by=topic");
  const query = new URLSearchParams(asked.find((url) => url.includes("metrics/trends"))!.split("?")[1]);
  expect(query.get("by")).toBe("none");
  expect([...document.querySelectorAll("[aria-label='Split by'] label")].map((one) => one.textContent)).toEqual([
    "all",
    "connector",
  ]);
});

it("says in the place of the chart what tasks do not report", async () => {
  await show("/trends?measure=throughput&group=12&connector=usgs-to-sql");
  expect(text()).toContain("Tasks do not report throughput by group.");
  expect(asked.some((url) => url.includes("metrics/trends"))).toBe(false);
  act(() => button("Show errors").click());
  await until(() => asked.some((url) => url.includes("metrics/trends")));
  const query = new URLSearchParams(asked.find((url) => url.includes("metrics/trends"))!.split("?")[1]);
  expect([query.get("measure"), query.get("group"), query.get("connector")]).toEqual(["errors", "12", "usgs-to-sql"]);
});

it("chooses a topic with the keyboard, and removes it with its button", async () => {
  await show("/trends?range=30d");
  const box = document.querySelector<HTMLInputElement>("[role=combobox]")!;
  await enter(box, "DLQ");
  await until(() => document.querySelectorAll("[role=option]").length === 3);
  expect([...document.querySelectorAll("[role=option]")].map((one) => one.textContent)).toEqual([
    "orders.dlq9",
    "stations.dlq2",
    "DLQas typed",
  ]);
  press(box, "ArrowDown");
  expect(document.querySelector("[aria-selected=true]")?.id).toBe(box.getAttribute("aria-activedescendant"));
  press(box, "Enter");
  await until(() => asked.some((url) => url.includes("topic=stations.dlq")));
  expect(document.querySelector("[role=listbox]")).toBeNull();
  asked = [];
  act(() => document.querySelector<HTMLButtonElement>("[title='Remove topic stations.dlq']")!.click());
  await until(() => !document.querySelector("[title^='Remove topic']"));
});

it("finds a group by its title, and a connector without dead letters", async () => {
  await show("/trends");
  const [subject, box] = [
    document.querySelector("select")!,
    document.querySelector<HTMLInputElement>("[role=combobox]")!,
  ];
  const choose = (value: string) =>
    act(() => {
      subject.value = value;
      subject.dispatchEvent(new Event("change", { bubbles: true }));
    });
  choose("group");
  await enter(box, "null");
  await until(() => document.querySelector("[role=option]"));
  press(box, "Enter");
  await until(() => asked.some((url) => url.includes("group=12")));
  expect(text()).toContain("group gap null");
  choose("connector");
  await enter(box, "quiet");
  await until(() => document.querySelector("[role=option]"));
  press(box, "Enter");
  await until(() => asked.some((url) => url.includes("connector=quiet-sink") && url.includes("group=12")));
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

it("deletes an event that the user may delete, after a confirmation", async () => {
  answers.annotations = { results: [{ ...EVENTS[0], removable: true }, EVENTS[1]], complete: true };
  await show("/trends");
  await until(() => document.querySelectorAll("ol li button:not([aria-disabled])").length === 1);
  act(() => document.querySelector<HTMLButtonElement>("[title='Delete release 4.2']")!.click());
  await act(() => vi.dynamicImportSettled());
  await until(() => button("Delete event"));
  expect(deleted).toEqual([]);
  act(() => button("Delete event").click());
  await until(() => !document.querySelector("[role=dialog]"));
  expect(deleted).toEqual(["/api/v1/annotations/4"]);
});

it("tells who may delete events if the role has gone since", async () => {
  answers.session = { role: "viewer" };
  answers.annotations = { results: [{ ...EVENTS[0], removable: true }], complete: true };
  await show("/trends");
  await until(() => document.querySelector("ol li button"));
  expect(document.querySelector("ol li button")?.getAttribute("aria-description")).toBe("Needs the role operator");
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
