import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act } from "react";
import { createRoot } from "react-dom/client";
import { MemoryRouter } from "react-router";
import { expect, it } from "vitest";
import type { Connector, Nearness, Task } from "../../api/types";
import { TopicTable } from "./TopicTable";

const NONE: Nearness = {
  risk: "unknown",
  left: null,
  total: null,
  rate: null,
  window_ms: 60_000,
  decided_by: "limits",
  handlers: {},
  errors_per_hour: null,
  empty_in_ms: null,
};
const limit = (most: number, used: number) => ({ limit: most, used, left: most < 0 ? null : most - used });

/** The error budget that the overview shows of a connector whose tasks have these budgets, beside the tolerance each reported. */
async function shown(...budgets: Partial<Nearness>[]): Promise<string | null | undefined> {
  const tasks = budgets.map(
    (budget, id) =>
      ({ id, state: "RUNNING", tolerance: { limit: 500, used: 0 }, budget: { ...NONE, ...budget } }) as Partial<Task>,
  );
  const connector = {
    cluster: "engine",
    name: "c",
    has_figures: true,
    type: "sink",
    state: "RUNNING",
    topics: ["t"],
    tasks,
    lag: 0,
    last_error_at: null,
  } as unknown as Connector;
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(["connectors"], {
    clusters: [],
    nearest: [],
    results: [connector],
  });
  client.setQueryData(["balance"], { connectors: [] });
  const host = document.createElement("div");
  const root = createRoot(host);
  await act(() =>
    root.render(
      <QueryClientProvider client={client}>
        <MemoryRouter>
          <TopicTable />
        </MemoryRouter>
      </QueryClientProvider>,
    ),
  );
  const text = host.querySelectorAll("tbody td")[5]?.textContent;
  await act(() => root.unmount());
  return text;
}

it("the limit of the rate counts as it does on the connectors screen", async () => {
  expect(await shown({ risk: "exhausted", left: 0, total: limit(500, 10), rate: limit(10, 10) })).toBe(
    "490 of 500 leftin all0 of 10 left: fails on the next errorper minute",
  );
});

it("where handlers decide no limit is told", async () => {
  expect(await shown({ risk: "handler", decided_by: "handlers", handlers: { processing: "my.Handler" } })).toBe(
    "a handler decides",
  );
});

it("the task nearest to failing stands for its connector", async () => {
  const harmless = { risk: "unused" as const, left: 10, total: limit(10, 0), rate: limit(-1, 0) };
  expect(await shown(harmless, { ...harmless, risk: "near", left: 1, total: limit(10, 9) })).toBe(
    "1 of 10 leftin alltask 1, the nearest to failing of 2",
  );
});

it("a connector without tasks has no budget", async () => {
  expect(await shown()).toBe("–");
});
