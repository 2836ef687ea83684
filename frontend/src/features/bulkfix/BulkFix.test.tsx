import { QueryClient } from "@tanstack/react-query";
import { act, type ReactNode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { Route, Routes } from "react-router";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { BulkFix } from "../../api/bulkFixes";
import { inApp, settle } from "../../testing";
import { BulkJob } from "./BulkJob";
import { FileFix } from "./FileFix";

const AT = "2026-11-22T00:00:00Z";
const SELECTION = {
  id: 7,
  count: 2,
  watermark: 9,
  digest: "ab",
  title: "topic a",
  filters: {},
  created_at: AT,
  created_by: "eve",
};
const BULK = {
  id: 4,
  kind: "jq",
  program: ".x = 1",
  replace: true,
  status: "done",
  counts: { matched: 2, changed: 2, untouched: 0, invalid: 0, kept: 0 },
  why: [],
  trouble: "",
  drafts: 2,
  replaced: 1,
  selection: SELECTION,
  author: "eve",
  created_at: AT,
  done_at: AT,
} as unknown as BulkFix;

let host: HTMLElement;
let root: Root;
let asked: { path: string; key: string | null }[];
let answers: (() => Promise<Response>)[];

beforeEach(() => {
  host = document.body.appendChild(document.createElement("div"));
  root = createRoot(host);
  asked = [];
  answers = [];
  vi.stubGlobal("fetch", (url: string, init?: RequestInit) => {
    if (init?.method !== "POST") return new Promise<Response>(() => undefined);
    asked.push({ path: url.replace("/api/v1/", ""), key: new Headers(init.headers).get("Idempotency-Key") });
    return answers.shift()!();
  });
});

afterEach(async () => {
  await act(() => root.unmount());
  host.remove();
});

async function show(screen: ReactNode, bulk = BULK): Promise<void> {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(["session"], { username: "eve", role: "operator", read_only: false });
  client.setQueryData(["health"], { broker: { reachable: true } });
  client.setQueryData(["bulk-fix", "4"], bulk);
  const routes = (
    <Routes>
      <Route path="/bulk-fixes/:id" element={<BulkJob />} />
      <Route path="/" element={screen} />
    </Routes>
  );
  await act(() => root.render(inApp(client, routes, screen ? "/" : "/bulk-fixes/4")));
}

async function upload(): Promise<void> {
  await act(() => button("Make drafts of the file").click());
  await settle();
}

const strips = () => [...host.querySelectorAll("div[role=status]")].map((one) => one.textContent);
const button = (name: string) => [...document.querySelectorAll("button")].find((one) => one.textContent === name)!;

it.each([
  [
    "why it broke off",
    { status: "done", trouble: "The program did not end within 2 s. The drafts that it had already replaced stay." },
    "The program did not end within 2 s. The drafts that it had already replaced stay.",
  ],
  [
    "what failed",
    { status: "failed", trouble: "The program does not end within 2 s." },
    "The program does not end within 2 s. No drafts were kept.",
  ],
  [
    "what is being thrown away, and why",
    { status: "undoing", trouble: "The program does not end within 2 s.", done_at: null },
    "The program does not end within 2 s. Deleting its drafts: 2 are left.",
  ],
  ["how far the undoing is", { status: "undoing", trouble: "It broke off." }, "Deleting its drafts: 2 are left."],
  [
    "that its undo was given up",
    { status: "cancelled", trouble: "Its undo was given up: it ended its workers. Undo it again." },
    "Its undo was given up: it ended its workers. Undo it again. 2 drafts of it are there until you undo it.",
  ],
  [
    "what came back",
    { status: "undone" },
    "Its drafts are gone and those that it replaced are back, but for those that were edited by hand or replaced since.",
  ],
  [
    "that none was replaced",
    { status: "undone", replace: false },
    "Its drafts are gone, but for those that were edited by hand since.",
  ],
])("says %s", async (_, change, words) => {
  await show(null, { ...BULK, ...change } as BulkFix);
  expect(strips()).toEqual([words]);
});

it("says nothing of trouble where there was none", async () => {
  await show(null);
  expect(strips()).toEqual([]);
});

it.each([
  [1, "1 draft that it replaced comes back. Records already sent are not affected."],
  [0, "Records already sent are not affected."],
])("asks before it is undone, with %i to come back", async (replaced, words) => {
  await show(null, { ...BULK, replaced });
  await act(() => button("Undo…").click());
  expect(document.querySelector("[role=dialog]")!.textContent).toContain(words);
});

it("sends a file with a key that stays until its own answer comes, and says what the answer is", async () => {
  const changed = "A record or one of your drafts changed during the import. Nothing was saved. Import the file again.";
  answers = [
    () => Promise.reject(new TypeError("no network")),
    () => Promise.resolve(new Response("", { status: 504 })),
    () =>
      Promise.resolve(
        new Response(JSON.stringify({ title: "Conflict", status: 409, detail: changed }), { status: 409 }),
      ),
    () => Promise.resolve(new Response(JSON.stringify(BULK), { status: 201 })),
  ];
  await show(<FileFix selection={7} many={2} />);
  const input = host.querySelector<HTMLInputElement>("input[type=file]")!;
  Object.defineProperty(input, "files", { value: [new File(["{}"], "a.ndjson")] });
  await act(() => input.dispatchEvent(new Event("change", { bubbles: true })));
  await upload();
  expect(host.querySelector("[role=alert]")!.textContent).toContain("cannot be reached");
  await upload();
  expect(host.querySelector("[role=alert]")!.textContent).toContain("504");
  await upload();
  expect(host.querySelector("[role=alert]")!.textContent).toBe(changed);
  await upload();
  const [first, gateway, second, third] = asked;
  expect(first).toEqual({ path: "bulk-fixes/import?replace=false", key: expect.any(String) as string });
  expect([gateway, second]).toEqual([first, first]);
  expect(third!.key).not.toBe(first!.key);
  expect(host.textContent).toContain("Bulk fix B-4");
});
