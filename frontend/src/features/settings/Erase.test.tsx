import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Erasure, ErasurePreview } from "../../api/erasures";
import { inApp, settle } from "../../testing";
import { Erase } from "./Erase";

const PREVIEW: ErasurePreview = {
  count: 2,
  erased_before: 1,
  title: "records with one key",
  drafts: 1,
  replaced_drafts: 0,
  item_payloads: 0,
  exports: 1,
  bulk_fix_reasons: 0,
  rehearsals: 0,
  running_replays: [],
};
const DONE: Erasure = {
  id: 3,
  name: "X-3",
  state: "done",
  by: "root",
  reason: "a request",
  title: "records with one key",
  key_digest: "ab",
  future: false,
  count: 2,
  done: 2,
  created_at: "2026-11-28T10:00:00Z",
  done_at: "2026-11-28T10:00:01Z",
  trouble: "",
  erased: [{ kind: "drafts", label: "Drafts", count: 1 }],
  kept: [{ kind: "audit_entries", label: "Audit entries", why: "The audit trail is sealed.", ids: ["17"] }],
};

let root: Root;
let sent: { method: string; url: string; body: unknown }[];
let answers: Record<string, () => Response>;

beforeEach(() => {
  sent = [];
  answers = {
    "GET /erasures": () => Response.json({ results: [], next: null }),
    "POST /erasures/preview": () => Response.json(PREVIEW),
    "POST /erasures": () => Response.json(DONE, { status: 201 }),
  };
});

afterEach(async () => {
  await act(() => root.unmount());
  document.body.replaceChildren();
});

async function show(administrator = true): Promise<void> {
  vi.stubGlobal("fetch", (url: string, { method = "GET", body }: RequestInit) => {
    sent.push({ method, url, body: typeof body === "string" ? JSON.parse(body) : undefined });
    return Promise.resolve(answers[`${method} ${url.replace("/api/v1", "")}`]!());
  });
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  client.setQueryData(["session"], { role: "operator", administrator, read_only: false });
  root = createRoot(document.body.appendChild(document.createElement("div")));
  await act(() => root.render(inApp(client, <Erase />)));
  await settle();
}

const button = (name: string) =>
  [...document.querySelectorAll<HTMLElement>("button")].find((one) => one.textContent === name)!;

async function press(name: string): Promise<void> {
  await act(() => button(name).click());
  await settle();
}

async function fill(label: string, value: string): Promise<void> {
  const name = [...document.querySelectorAll("label")].find((one) => one.textContent === label)!;
  const input = document.getElementById(name.htmlFor) as HTMLInputElement | HTMLTextAreaElement;
  await act(() => {
    const of = input instanceof HTMLTextAreaElement ? HTMLTextAreaElement : HTMLInputElement;
    Object.getOwnPropertyDescriptor(of.prototype, "value")!.set!.call(input, value);
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

it("somebody who is no administrator sees no form and asks for nothing", async () => {
  await show(false);
  expect(document.body.textContent).toContain("Needs an administrator");
  expect(document.querySelector("form")).toBeNull();
  expect(sent).toEqual([]);
});

it("a key is sent in the body, and the preview tells the numbers", async () => {
  await show();
  await fill("Exact key", "person-1");
  await press("Preview");
  expect(sent.at(-1)).toEqual({
    method: "POST",
    url: "/api/v1/erasures/preview",
    body: { key_text: "person-1", future: false },
  });
  const text = document.querySelector("[data-testid=erase-preview]")!.textContent;
  expect(text).toContain("2, and 1 that were erased before");
});

it("the records are erased after a reason and the typed number", async () => {
  await show();
  await fill("Exact key", "person-1");
  await press("Preview");
  await fill("Reason", "a request");
  await fill("Type 2 to confirm", "3");
  expect(button("Erase 2 records").getAttribute("aria-disabled")).toBe("true");
  await fill("Type 2 to confirm", "2");
  answers["GET /erasures"] = () => Response.json({ results: [DONE], next: null });
  await press("Erase 2 records");
  const request = sent.find((one) => one.url === "/api/v1/erasures" && one.method === "POST")!;
  expect(request.body).toEqual({ key_text: "person-1", future: false, reason: "a request", confirm_count: 2 });
  const row = document.querySelector("[data-testid=erasure]")!;
  expect(row.textContent).toContain("X-3");
  expect(row.textContent).toContain("Not changed: Audit entries 17");
  expect(row.querySelector("a")!.getAttribute("href")).toBe("/api/v1/erasures/3/receipt");
});

it("replays that have not ended bar the erasure and are named", async () => {
  answers["POST /erasures/preview"] = () => Response.json({ ...PREVIEW, running_replays: ["R-7"] });
  await show();
  await fill("Exact key", "person-1");
  await press("Preview");
  expect(document.body.textContent).toContain("R-7 has some of these records and has not ended.");
  await fill("Reason", "a request");
  await fill("Type 2 to confirm", "2");
  expect(button("Erase 2 records").getAttribute("aria-disabled")).toBe("true");
});

it("a preview is gone as soon as the choice changes", async () => {
  await show();
  await fill("Exact key", "person-1");
  await press("Preview");
  await fill("Exact key", "person-12");
  expect(document.querySelector("[data-testid=erase-preview]")).toBeNull();
});

it.each([
  ["key:person-1", "q=key%3Aperson-1"],
  ["from=now-30d&key=person-1", "from=now-30d&key=person-1"],
  ["https://dlq.example/records?key=person-1", "key=person-1"],
])("a query is sent as the address of a list: %s", async (text, filter) => {
  await show();
  const query = [...document.querySelectorAll("label")].find((one) => one.textContent === "Query")!;
  await act(() => document.getElementById(query.htmlFor)!.click());
  await fill("Query or address", text);
  await press("Preview");
  expect(sent.at(-1)!.body).toEqual({ filter, include_origin_key: false });
});
