import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { DeadLetterPage, DeadLetterRow } from "../../api/types";
import { ALL_TIME } from "../../lib/ranges";
import { inApp, settle } from "../../testing";
import { Records } from "./Records";

type Answer = object | "broken" | "never";

let answers: (path: string, params: URLSearchParams) => Answer;
let root: Root;
const ROW = {
  id: 1,
  readable: true,
  message: "no such column",
  failed_at: "2026-11-21T03:04:12Z",
  origin_partition: 0,
  origin_offset: 1,
  stage: "TASK_PUT",
  value_size: 1,
} as DeadLetterRow;
const PAGE: DeadLetterPage = {
  results: [ROW],
  next: "older",
  total: { count: 495, exact: true },
  took_ms: 1,
  ran_at: "2026-11-21T03:04:12Z",
  from: "2026-11-14T03:04:12Z",
  to: "2026-11-21T03:04:12Z",
  partial: false,
  searched: null,
  text_behind: null,
  alternative: null,
  absent: [],
};
const NONE: DeadLetterPage = { ...PAGE, results: [], next: null, total: { count: 0, exact: true } };
const FACETS = {
  facets: { stage: [{ value: "VALUE_CONVERTER", label: "VALUE_CONVERTER", count: 25 }] },
  exact: true,
  of: null,
  partial: false,
  took_ms: 1,
};
const TIMES = {
  from: "2026-11-14T00:00:00Z",
  to: "2026-11-21T00:00:00Z",
  bucket_ms: 3_600_000,
  series: [],
  exact: true,
};

/** The default response of each list. */
function lists(path: string, page: Answer = PAGE): Answer {
  if (path.endsWith("/facets")) return FACETS;
  return path.endsWith("/histogram") ? TIMES : path.endsWith("/dead-letters") ? page : { results: [] };
}

beforeEach(() => {
  vi.stubGlobal(
    "fetch",
    vi.fn((url: string, options: RequestInit) => {
      const { pathname, searchParams } = new URL(url, "http://here");
      const answer = options.method === "GET" ? answers(pathname, searchParams) : {};
      if (answer !== "never")
        return Promise.resolve(
          new Response(JSON.stringify(answer === "broken" ? { detail: "It broke." } : answer), {
            status: answer === "broken" ? 500 : 200,
          }),
        );
      return new Promise((_, reject) =>
        options.signal?.addEventListener("abort", () => reject(new DOMException("gone", "AbortError"))),
      );
    }),
  );
});

afterEach(async () => {
  await act(() => root.unmount());
});

async function show(address = "/records"): Promise<void> {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  client.setQueryData(["session"], { role: "operator", read_only: false });
  root = createRoot(document.body.appendChild(document.createElement("div")));
  await act(() => root.render(inApp(client, <Records />, address)));
  await settle();
}

function button(name: string): HTMLButtonElement {
  const found = [...document.querySelectorAll("button")].find((one) => one.textContent?.startsWith(name));
  if (!found) throw new Error(`no button ${name}`);
  return found;
}

async function press(name: string): Promise<void> {
  await act(() => button(name).click());
  await settle();
}

const heads = () => [...document.querySelectorAll("[role=columnheader]")].map((one) => one.textContent);

async function box(name: string): Promise<void> {
  const found = [...document.querySelectorAll("label")].find((one) => one.textContent === name);
  await act(() => found?.querySelector("input")?.click());
}

const text = () => document.body.textContent ?? "";
const asked = () => vi.mocked(fetch).mock.calls.map(([url]) => String(url));

it("while a new question is asked the old answer is not its answer", async () => {
  answers = (path) => lists(path);
  await show();
  expect(text()).toContain("Showing 1 of 495");
  answers = () => "never";
  await press("VALUE_CONVERTER");
  expect(text()).toContain("Searching…");
  expect(text()).not.toContain("495");
  expect(button("Export").getAttribute("aria-disabled")).toBe("true");
  expect(text()).not.toContain("Older");
});

it("after Cancel nothing is there, nothing is asked any more, and one may ask again", async () => {
  answers = (path) => lists(path);
  await show();
  answers = () => "never";
  await press("VALUE_CONVERTER");
  await press("Cancel");
  expect(text()).toContain("Search cancelled");
  expect(document.querySelectorAll("[data-testid=record]")).toHaveLength(0);
  expect(document.querySelector("aside")?.textContent).toBe("Not counted");
  expect(document.querySelector("[aria-busy=true]")).toBeNull();
  expect(asked().filter((url) => url.includes("/queries/"))).toHaveLength(3);
  answers = (path) => lists(path);
  await press("Try again");
  expect(text()).toContain("Showing 1 of 495");
  expect(document.querySelector("aside")?.textContent).toContain("VALUE_CONVERTER");
});

it("all that is asked can be cancelled", async () => {
  answers = (path) => lists(path);
  await show();
  const lasting = asked().filter((url) => url.includes("/dead-letters"));
  expect(lasting.length).toBeGreaterThanOrEqual(4);
  expect(lasting.filter((url) => !url.includes("query_id="))).toEqual([]);
});

it("nothing is said of facets that are not there", async () => {
  answers = (path) => (path.endsWith("/facets") ? "never" : lists(path));
  await show();
  expect(text()).toContain("total exact·took");
});

it("a time-out that found nothing is not called nothing", async () => {
  answers = (path) => lists(path, { ...NONE, partial: true, total: { count: 0, exact: false } });
  await show("/records?q=word");
  expect(text()).toContain("Nothing found before it stopped at 2 s");
  expect(text()).toContain("Showing 0, total not counted");
  expect(text()).not.toMatch(/0\+|No record|None match|no older/);
});

it("a later page that stopped says so", async () => {
  answers = (path, params) =>
    lists(path, params.has("cursor") ? { ...PAGE, results: [{ ...ROW, id: 2 }], next: null, partial: true } : PAGE);
  await show();
  await press("Older 100");
  expect(text()).toContain("this answer is partial");
  expect(text()).toContain("stopped at 2 s; there may be more");
  expect(text()).not.toContain("no older ones");
});

it.each(["Refresh", "Older 100"])("%s that fails is said, and what is there stays", async (name) => {
  answers = (path) => lists(path);
  await show();
  answers = (path) => (path.endsWith("/dead-letters") ? "broken" : lists(path));
  await press(name);
  expect(text()).toContain("Not refreshed: It broke. Shown data is from just now. Try again");
  expect(text()).toContain("Showing 1 of 495");
  answers = (path) => lists(path, { ...PAGE, results: [{ ...ROW, id: 2 }] });
  await press("Try again");
  expect(text()).not.toContain("Not refreshed");
});

it("no match is told against all of the time", async () => {
  answers = (path, params) => lists(path, params.has("q") ? NONE : { ...PAGE, total: { count: 48_210, exact: true } });
  await show("/records?q=word");
  expect(text()).toContain("0 of 48,210 match");
  await press("Without word");
  expect(text()).toContain("of 48,210");
});

it("a key that is not found whole can be searched by its beginning", async () => {
  const alternative = { query: "key:ak1836*", count: 3, exact: true };
  answers = (path, params) =>
    lists(
      path,
      params.get("q") === "key:ak1836" ? { ...NONE, alternative } : { ...PAGE, total: { count: 3, exact: true } },
    );
  await show("/records?q=key:ak1836");
  await press("Search key:ak1836* (3 records)");
  expect(text()).toContain("Showing 1 of 3");
  expect(asked().some((url) => url.includes("q=key%3Aak1836*"))).toBe(true);
});

it("a quiet time is told with the last failure before it", async () => {
  const last = { ...ROW, topic: "orders.dlq", failed_at: new Date(Date.now() - 3 * 86_400_000).toISOString() };
  answers = (path, params) => lists(path, params.get("from") === ALL_TIME ? { ...PAGE, results: [last] } : NONE);
  await show("/records?from=now-6h");
  await settle();
  expect(text()).toContain("No failures in the last 6 h.");
  expect(text()).toContain("Newest: 3 d ago, orders.dlq.");
});

it("where nothing was ever indexed the steps are shown, with the topics that look like dead letters", async () => {
  const clusters = {
    results: [{ name: "local", own: true, bootstrap_servers: ["kafka:9092"] }],
    index: {
      reachable: true,
      patterns: [".*dlq"],
      rules: [],
      start: "earliest",
      topics: [],
      lookalikes: ["orders-dlt"],
      text: {},
    },
  };
  answers = (path) => (path.endsWith("/clusters") ? clusters : lists(path, NONE));
  await show();
  await settle();
  expect(text()).toContain("No topics are indexed yet");
  expect([...document.querySelectorAll("li")].map((one) => one.textContent?.includes("(done)"))).toEqual([
    true,
    false,
    false,
  ]);
  expect(text()).toContain("DLQ_TOPICS='.*dlq,orders-dlt'");
  expect(text()).toContain("python manage.py index_deadletters");
});

it("chosen columns are shown and kept, and at least one stays", async () => {
  answers = (path) => lists(path);
  await show();
  expect(heads()).toContain("Key");
  await press("Columns");
  await box("Key");
  await box("Replay state");
  expect(heads()).not.toContain("Key");
  expect(heads()).toContain("Replay");
  expect(localStorage.getItem("dlqadmin.columns")).not.toContain("key");
  for (const one of document.querySelectorAll<HTMLInputElement>("label input:checked")) await act(() => one.click());
  expect(heads()).toHaveLength(1);
  await press("Reset columns");
  expect(heads()).toContain("Key");
});

it("new records are told and not moved in; nobody looks for them where that is off", async () => {
  let total = 495;
  answers = (path, params) =>
    lists(path, params.get("limit") === "1" ? { ...PAGE, total: { count: total, exact: true } } : PAGE);
  total = 503;
  await show();
  await settle();
  expect(text()).toContain("8 new: show");
  const every = [...document.querySelectorAll("select")].find((one) =>
    one.closest("label")?.textContent?.startsWith("check for"),
  )!;
  await act(() => ((every.value = "0"), every.dispatchEvent(new Event("change", { bubbles: true }))));
  expect(text()).not.toContain("8 new");
  expect(localStorage.getItem("dlqadmin.look-every")).toBe("0");
});

it("words that are not searched yet are told", async () => {
  answers = (path) => lists(path, { ...PAGE, text_behind: 1_200 });
  await show("/records?q=word");
  expect(text()).toContain("text of the newest 1,200 records is not searched yet");
});

it("a state of no replay is said in words", async () => {
  answers = (path) =>
    path.endsWith("/facets")
      ? {
          ...FACETS,
          facets: {
            replay_state: [
              { value: "none", label: "none", count: 3 },
              { value: "failed_again", label: "failed_again", count: 1 },
            ],
          },
        }
      : lists(path);
  await show();
  expect(text()).toContain("not replayed");
  expect(text()).toContain("failed again");
});

it("facets stand in one order, numbers last", async () => {
  const one = [{ value: "1", label: "1", count: 1 }];
  const every = ["origin_partition", "replay_state", "topic", "connector", "group", "exception", "stage"];
  answers = (path) =>
    path.endsWith("/facets")
      ? { ...FACETS, facets: Object.fromEntries(every.map((field) => [field, one])) }
      : lists(path);
  await show();
  const heads = [...document.querySelectorAll("h2")].map((head) => head.textContent);
  expect(heads).toEqual(["Stage", "Exception", "Group", "Connector", "Topic", "Replay state", "Origin partition"]);
});

it("columns that do not count all say so", async () => {
  answers = (path) =>
    path.endsWith("/histogram")
      ? { ...TIMES, exact: false, series: [{ key: "a", total: 10_000, points: [10_000] }] }
      : lists(path);
  await show();
  expect(text()).toContain("of the newest 10,000 matching");
});

it("columns that were not counted in time say so", async () => {
  answers = (path) => (path.endsWith("/histogram") ? { ...TIMES, exact: false } : lists(path));
  await show();
  expect(text()).toContain("not counted in 2 s");
});
