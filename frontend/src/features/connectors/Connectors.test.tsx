import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { Route, Routes } from "react-router";
import { afterEach, expect, it } from "vitest";
import type { ConnectCluster, Connector } from "../../api/types";
import { Connectors } from "./Connectors";
import { inApp } from "../../testing";

const ENGINE: ConnectCluster = {
  name: "engine",
  software: "dlqadmin",
  version: "0.1.0",
  reachable: true,
  as_of: "2026-11-21T03:12:30.000Z",
  trouble: null,
  has_figures: true,
};
const LEGACY: ConnectCluster = {
  ...ENGINE,
  name: "legacy",
  software: "kafka_connect",
  version: "4.1.1",
  has_figures: false,
};
const TASK = { id: 0, state: "RUNNING", worker_id: "10.0.0.7:8083", trace: null, stages: [], metrics: {} };
const TASKS = { total: 1, running: 1, failed: 0, paused: 0, stopped: 0, unassigned: 0 };
const BUDGET = { risk: "unknown", total: null, rate: null, window_ms: 60_000, decided_by: "limits", handlers: {} };

function connector(cluster: string, name: string): Connector {
  return {
    cluster,
    name,
    has_figures: cluster === "engine",
    type: "sink",
    kind: "sink",
    state: "RUNNING",
    shown: { state: "running", text: "1 of 1 task runs", since: null, by: null, reason: null, tasks: TASKS },
    topics: ["t"],
    dlq_topic: `${cluster}.dlq`,
    config: { "connector.class": "Sink" },
    tasks: [{ ...TASK, budget: BUDGET }],
    metrics: {},
    stages: [],
    lag: null,
  } as unknown as Connector;
}

const QUERIES: ConnectCluster = { ...ENGINE, name: "spark", software: "spark", version: "" };
const RUN = {
  run: "5f0c3c52",
  started_at: "2026-11-21T02:12:30.000Z",
  is_stream: true,
  batch: 17,
  reported_at: "2026-11-21T03:12:30.000Z",
  every_ms: 10_000,
  is_silent: false,
};

function query(name: string, run: Partial<typeof RUN> = {}, changes: object = {}): Connector {
  const one = connector("spark", name);
  return {
    ...one,
    ...{ kind: "query", type: "query", has_figures: true, worker_id: "driver-1", config: {}, last_error_at: null },
    shown: { ...one.shown, text: "The query runs" },
    query: { ...RUN, ...run },
    ...changes,
  } as Connector;
}

let root: Root;

afterEach(async () => {
  await act(() => root.unmount());
  document.body.replaceChildren();
});

async function show(address: string, clusters: ConnectCluster[], results: Connector[]): Promise<void> {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: Infinity } } });
  client.setQueryData(["session"], { role: "operator", read_only: false, payload_reader: true });
  client.setQueryData(["connectors"], { clusters, nearest: [], results });
  root = createRoot(document.body.appendChild(document.createElement("div")));
  await act(() =>
    root.render(
      inApp(
        client,
        <Routes>
          <Route path="/connectors" element={<Connectors />} />
          <Route path="/connectors/:name" element={<Connectors />} />
          <Route path="/connectors/:cluster/:name" element={<Connectors />} />
          <Route path="/connectors/:cluster/:name/edit" element={<h1>the editor</h1>} />
        </Routes>,
        address,
      ),
    ),
  );
}

const text = () => document.body.textContent ?? "";
const region = (label: string) => document.querySelector(`[aria-label="${label}"]`)?.textContent ?? "";

it("one cluster needs no heading", async () => {
  await show("/connectors", [ENGINE], [connector("engine", "a")]);
  expect(document.querySelector("[aria-label^='Connect cluster']")).toBeNull();
});

it("each of several clusters has its connectors, its software, and its own trouble", async () => {
  const away = { ...LEGACY, reachable: false, trouble: "The Connect cluster legacy does not respond." };
  await show("/connectors", [ENGINE, away], [connector("engine", "a"), connector("legacy", "b")]);
  expect(region("Connect cluster engine")).toContain("dlqadmin engine 0.1.0, 1 connector");
  expect(region("Connect cluster engine")).not.toContain("does not respond");
  expect(region("Connect cluster legacy")).toContain("Kafka Connect 4.1.1, 1 connector");
  expect(region("Connect cluster legacy")).toContain("The Connect cluster legacy does not respond.");
});

it("a connector without figures shows no zeros, and leads to its dead letters", async () => {
  await show("/connectors/legacy/b", [ENGINE, LEGACY], [connector("legacy", "b")]);
  expect(text()).toContain("Kafka Connect reports no record counts, lag or error budgets");
  expect(text()).toContain("10.0.0.7:8083");
  for (const absent of ["consumed", "Error budget", "Lag", "Over time"]) expect(text()).not.toContain(absent);
  const links = [...document.querySelectorAll("a")].map((one) => decodeURIComponent(one.getAttribute("href") ?? ""));
  expect(links.some((href) => href.startsWith("/records?") && href.includes("legacy.dlq"))).toBe(true);
});

it("a name that two clusters have leads to both, and says that they share a consumer group", async () => {
  await show("/connectors/a", [ENGINE, LEGACY], [connector("engine", "a"), connector("legacy", "a")]);
  expect(text()).toContain("2 Connect clusters have a connector of this name");
  expect(text()).toContain("Both use the consumer group connect-a, so Kafka splits");
  const links = [...document.querySelectorAll("h2 a")].map((one) => one.getAttribute("href"));
  expect(links).toEqual(["/connectors/engine/a", "/connectors/legacy/a"]);
});

it("an address without a cluster leads to the only connector of its name, and to its editor", async () => {
  await show("/connectors/b", [ENGINE, LEGACY], [connector("engine", "a"), connector("legacy", "b")]);
  expect(text()).toContain("1 of 1 task runs");
  await act(() => root.unmount());
  document.body.replaceChildren();
  await show("/connectors/b/edit", [ENGINE, LEGACY], [connector("engine", "a"), connector("legacy", "b")]);
  expect(document.querySelector("h1")?.textContent).toBe("the editor");
});

it("queries are listed under a heading of their own, which one Connect cluster does not get", async () => {
  await show("/connectors", [ENGINE, QUERIES], [connector("engine", "a"), query("orders")]);
  expect(document.querySelector("[aria-label^='Connect cluster']")).toBeNull();
  expect(region("Spark queries")).toContain("1 guarded query. The programs that run them start and stop them.");
  expect(text()).toContain("1 connector, 1 task, 1 Spark query");
});

it("nobody can start, stop, restart or edit a query", async () => {
  await show("/connectors/spark/orders", [ENGINE, QUERIES], [query("orders")]);
  expect(text()).toContain("The query runs");
  for (const absent of ["Pause…", "Restart…", "Edit…", "More", "Delivery"]) expect(text()).not.toContain(absent);
});

it("a query tells its run, its batch, its driver and its dead letter topic", async () => {
  await show("/connectors/spark/orders", [ENGINE, QUERIES], [query("orders")]);
  for (const said of ["stream", "17", "driver-1", "5f0c3c52", "Last report"]) expect(text()).toContain(said);
  const links = [...document.querySelectorAll("a")].map((one) => decodeURIComponent(one.getAttribute("href") ?? ""));
  expect(links.some((href) => href.startsWith("/records?") && href.includes("spark.dlq"))).toBe(true);
});

it("a batch job has no batch, and a query that never said when it began says so", async () => {
  await show("/connectors/spark/b", [QUERIES], [query("b", { is_stream: false, started_at: null as never })]);
  expect(text()).toContain("batch job");
  expect(text()).toContain("Startednot known");
  expect(text()).not.toContain("Last batch");
});

it("a query that misses its reports is not shown as running", async () => {
  const shown = { state: "unknown", text: "No report since 2026-11-21 03:12:30 UTC", since: null, tasks: TASKS };
  const changes = { shown, tasks: [{ ...TASK, state: "UNKNOWN", budget: BUDGET }] };
  await show("/connectors", [ENGINE, QUERIES], [query("orders", { is_silent: true }, changes)]);
  expect(region("Spark queries")).toContain("The query reported every 10 s while it ran.");
  expect(region("Spark queries")).toContain("All figures are those of its last report.");
});

it("a query and a connector of one name lead to each other's choice", async () => {
  await show("/connectors/a", [ENGINE, QUERIES], [connector("engine", "a"), query("a")]);
  expect(text()).toContain("A connector and a Spark query have this name. Choose one.");
  expect(text()).not.toContain("Both use the consumer group");
});

it("says that no Connect cluster is configured", async () => {
  await show("/connectors", [], []);
  expect(document.body.textContent).toContain("No Connect cluster");
  expect(document.body.textContent).toContain("ENGINE_URL");
});
