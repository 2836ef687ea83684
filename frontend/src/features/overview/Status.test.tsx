import { QueryClient, type UseQueryResult } from "@tanstack/react-query";
import { act, type ReactNode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Attention, ConnectorEntry } from "../../api/types";
import { enter, inApp, until } from "../../testing";
import "../../ui/Dialog"; // loaded before the test: the clock is fake, and the dialog is a chunk of its own
import { AttentionList } from "./AttentionList";
import { StatusStrip } from "./StatusStrip";

const CALM: Attention = {
  items: [],
  more: 0,
  dismissed: [],
  not_listed: [],
  strip: {
    ...{ failed_tasks: 0, failed: [], held: [], waiting: [] },
    rest: { connectors: ["a"], running: 1, tasks: 1, text: "a, 1 of 1 task", detail: "1 broker" },
  },
  status: "ok",
  reasons: [],
  ok: "Index is healthy.",
};
const ENTRY: ConnectorEntry = {
  connector: "sink",
  state: "failed",
  text: "1 of 2 tasks failed",
  since: null,
  by: null,
  reason: null,
  running: 1,
  tasks: 2,
  lag: 12,
  topics: [],
  error: "The database refuses the connection.",
  failed_tasks: [],
  actions: ["restart_task"],
  href: "/connectors/sink",
};
const FINDING: Attention["items"][number] = {
  id: "f1",
  kind: "new",
  severity: "high",
  score: 80,
  title: "gap is null",
  text: "New: 3 in 24 h",
  at: null,
  href: "/groups/1",
  action: "open",
  count: 3,
  by: null,
  reason: null,
};

let root: Root;
let sent: { method: string; path: string; body: unknown }[];

beforeEach(() => {
  sent = [];
  vi.stubGlobal(
    "fetch",
    vi.fn((url: string, { method, body }: RequestInit) => {
      sent.push({
        method: method ?? "GET",
        path: new URL(url, "http://here").pathname,
        body: typeof body === "string" ? JSON.parse(body) : null,
      });
      return Promise.resolve(new Response("{}"));
    }),
  );
});

afterEach(async () => {
  await act(() => root.unmount());
});

async function show(screen: (answer: UseQueryResult<Attention>) => ReactNode, data: Partial<Attention>): Promise<void> {
  const client = new QueryClient();
  client.setQueryData(["session"], { username: "eve", role: "operator", read_only: false });
  root = createRoot(document.body.appendChild(document.createElement("div")));
  const answer = { data: { ...CALM, ...data }, error: null } as UseQueryResult<Attention>;
  await act(() => root.render(inApp(client, screen(answer))));
}

const text = () => document.body.textContent;
const strip = (answer: UseQueryResult<Attention>) => <StatusStrip answer={answer} />;
const list = (answer: UseQueryResult<Attention>) => <AttentionList answer={answer} />;

async function press(label: string): Promise<void> {
  const found = [...document.querySelectorAll("button")].find((one) => one.textContent === label);
  await act(() => found!.click());
}

it("a failed task is not called running, and its records wait", async () => {
  await show(strip, {
    status: "failing",
    reasons: ["sink: 1 of 2 tasks failed."],
    strip: { ...CALM.strip, failed_tasks: 1, failed: [ENTRY] },
  });
  expect(text()).toContain("1 task failed: sink 1 of 2 tasks running");
  expect(text()).toContain("12 records wait. The database refuses the connection.");
  expect(text()).toContain("The rest runs: a, 1 of 1 task");
  expect(document.querySelector("a[href='/connectors/sink'].mantine-Button-root")?.textContent).toBe(
    "Restart the task…",
  );
});

it("a paused connector says by whom and why", async () => {
  const held = { ...ENTRY, state: "paused" as const, by: "ann", reason: "Disk is full.", lag: 0 };
  await show(strip, {
    status: "degraded",
    reasons: ["sink: paused by ann."],
    strip: { ...CALM.strip, held: [held] },
  });
  expect(text()).toContain("1 connector paused: sink");
  expect(text()).toContain("By ann: “Disk is full.” Lag 0.");
  expect(text()).not.toContain("All connectors run");
});

it("a part that does not work is said although all connectors run", async () => {
  await show(strip, { status: "failing", reasons: ["Redis does not respond.", "The index is late."] });
  expect(text()).toContain("Redis does not respond.The index is late.");
  expect(text()).not.toContain("✓");
});

it("a finding is dismissed with a reason, until it changes", async () => {
  await show(list, { items: [FINDING], more: 2 });
  expect(text()).toContain("Needs attention3");
  await press("Dismiss…");
  await act(() => document.querySelector<HTMLInputElement>("input[value=change]")!.click());
  expect(
    [...document.querySelectorAll("button")]
      .find((one) => one.textContent === "Dismiss")
      ?.getAttribute("aria-disabled"),
  ).toBe("true");
  await enter(document.querySelector("textarea")!, "Known.");
  await press("Dismiss");
  await until(() => sent.some(({ method }) => method === "POST"));
  expect(sent.find(({ method }) => method === "POST")).toEqual({
    method: "POST",
    path: "/api/v1/attention/f1/dismissal",
    body: { reason: "Known.", until: null },
  });
});

it("dismissed findings can be listed again, and states on purpose are not listed", async () => {
  const dismissed = {
    ...{ finding: "f1", kind: "new", title: "gap is null", reason: "Known.", by: "ann", at: "2026-11-21T12:00:00Z" },
    ...{ until: null, ended_at: null, ended_by: null, ended_why: "" as const },
  };
  await show(list, {
    dismissed: [dismissed],
    not_listed: [{ subject: "sink", text: "paused by ann", href: "/connectors/sink" }],
  });
  expect(text()).toContain("Not listed: sink, paused by ann.");
  await press("Show");
  expect(text()).toContain("gap is null by ann, until it changes: “Known.”");
  await press("List again");
  await until(() => sent.some(({ method }) => method === "DELETE"));
});
