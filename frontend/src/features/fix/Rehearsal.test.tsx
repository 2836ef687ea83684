import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { MemoryRouter } from "react-router";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Rehearsed, RehearsedStage } from "../../api/rehearsals";
import { settle } from "../../testing";
import { Rehearsal } from "./Rehearsal";

const PUT = {
  connector: "usgs-to-sql",
  table: "earthquakes",
  rows: 2,
  rows_before: 1237,
  rows_after: 1237,
  took_ms: 41,
  text: "SqlSink wrote 2 rows in one transaction, rolled back after 41 ms. Table earthquakes: 1,237 rows before and after.",
};
const ROW = { schema: "STRUCT", value: '{"gap":0}', base64: false, cut: false };
const OFF = "SqlSink would write to a database, and rehearsal.put.enabled is false";

function result(id: number, put: Partial<RehearsedStage>, rest: Partial<Rehearsed> = {}): Rehearsed {
  return {
    dead_letter: { id, topic: "dlq", partition: 0, offset: id },
    connector: "usgs-to-sql",
    edited: true,
    verdict: "fixed_here",
    text: "passes now.",
    failed_before: 1,
    stages: [
      { type: "VALUE_CONVERTER", class: "a.JsonConverter", name: "", state: "ok", after: {} },
      { type: "TASK_PUT", class: "SqlSink", name: "", state: "ok", after: { value: ROW }, ...put },
    ],
    produced: null,
    ...rest,
  } as Rehearsed;
}

let host: HTMLElement;
let root: Root;
let results: Rehearsed[];
let queries: QueryClient;

beforeEach(() => {
  queries = new QueryClient();
  host = document.body.appendChild(document.createElement("div"));
  root = createRoot(host);
  vi.stubGlobal("fetch", (_: string, init?: RequestInit) => {
    const done = init?.method === "POST" ? { state: "waiting", results: [] } : { state: "done", results };
    return Promise.resolve(Response.json({ id: 1, trouble: "", created_at: "", done_at: null, ...done }));
  });
});

afterEach(async () => {
  await act(() => root.unmount());
  host.remove();
});

async function show(version = 1): Promise<void> {
  await act(() =>
    root.render(
      <MantineProvider>
        <QueryClientProvider client={queries}>
          <MemoryRouter>
            <Rehearsal asked={{ bulk: 1 }} version={version} />
          </MemoryRouter>
        </QueryClientProvider>
      </MantineProvider>,
    ),
  );
}

async function rehearse(...found: Rehearsed[]): Promise<void> {
  results = found;
  await show();
  await act(() => host.querySelector("button")!.click());
  await settle();
  await settle();
}

function sink(): string[] {
  return [...host.querySelectorAll('[aria-label="Sink"] li p')].map((one) => one.textContent ?? "");
}

function totals(): string[] {
  return [...host.querySelectorAll('[aria-label="Stages of usgs-to-sql"] li')].map((one) => one.textContent ?? "");
}

it("before a rehearsal, the panel says that rows are rolled back", async () => {
  await show();
  expect(host.textContent).toContain("its rows are rolled back");
});

it("a rehearsed put is told once for all records, with what a rollback does not take back", async () => {
  await rehearse(result(1, {}, { put: PUT }), result(2, {}, { put: PUT }));
  expect(sink()).toHaveLength(1);
  expect(sink()[0]).toMatch(/^Sink rolled back\. SqlSink wrote 2 rows in one transaction, rolled back after 41 ms\./);
  expect(sink()[0]).toContain("A rollback does not take back numbers of sequences");
  expect(totals()).toEqual(["0 VALUE_CONVERTER✓JsonConverter2 passed", "1 TASK_PUT✓SqlSink2 passed, rolled back"]);
});

it("each stage counts the records that pass and fail in it", async () => {
  const failed = { state: "failed", message: "NOT NULL constraint failed: earthquakes.gap" } as const;
  await rehearse(result(1, {}, { put: PUT }), result(2, failed, { put: PUT, verdict: "still_fails" }));
  expect(totals()[1]).toBe("1 TASK_PUT✕SqlSink1 passed, 1 failed, rolled back");
  expect(host.textContent).toContain("1 of 2 passed every stage");
});

it("a sink that is not rehearsed says why, and for how many records", async () => {
  const off = { state: "not_rehearsable", note: OFF } as const;
  await rehearse(result(1, off), result(2, { state: "not_reached" }));
  expect(sink()).toEqual([`Sink not rehearsed for 1 of 2. ${OFF}.`]);
  expect(totals()[1]).toBe("1 TASK_PUT?SqlSink1 not rehearsed, 1 not reached");
});

it("the put of a single record shows its row and that it was rolled back", async () => {
  await rehearse(result(1, {}, { put: PUT }));
  const stages = host.querySelectorAll('[aria-label="Rehearsed stages"] button');
  expect(stages[1]?.textContent).toContain("passes, rolled back, failed before");
  expect(host.querySelector('[aria-label="row, STRUCT"]')?.textContent).toBe('{"gap":0}');
  expect(sink()[0]).toContain("Sink rolled back.");
});

it("without a put nothing is said about a rollback", async () => {
  const error = { state: "failed", message: "no number" } as const;
  await rehearse(result(1, error, { verdict: "still_fails" }));
  expect(sink()).toEqual([]);
  expect(host.textContent).not.toContain("rolled back");
});

it.each([
  ["fixed_here", true],
  ["not_rehearsable", false],
] as const)("after an edit, a record that is %s is rehearsed again: %s", async (verdict, isAskedFor) => {
  await rehearse(result(1, {}, { verdict }));
  expect(host.textContent).not.toContain("Rehearse again.");
  await show(2);
  expect(host.textContent?.includes("The record was edited after this rehearsal. Rehearse again.")).toBe(isAskedFor);
});
