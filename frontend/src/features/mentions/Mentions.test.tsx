import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, expect, it, vi } from "vitest";
import type { Mention } from "../../api/ownership";
import { inApp, settle } from "../../testing";
import { Mentions } from "./Mentions";

const MENTION: Mention = {
  group: 7,
  title: "IntegrityError in usgs",
  at: "2026-11-28T10:00:00Z",
  actor: "ada",
  text: "@eve: <b>please</b> look.",
  seen: false,
};

let root: Root;
let sent: string[];

async function show(results: Mention[] | null | "never", unseen = 0): Promise<void> {
  sent = [];
  vi.stubGlobal("fetch", (url: string, { method = "GET" }: RequestInit) => {
    sent.push(`${method} ${url}`);
    if (results === "never") return new Promise(() => undefined);
    if (results === null) return Promise.resolve(Response.json({ detail: "It broke." }, { status: 500 }));
    return Promise.resolve(Response.json({ results, unseen: method === "POST" ? 0 : unseen }));
  });
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  root = createRoot(document.body.appendChild(document.createElement("div")));
  await act(() => root.render(inApp(client, <Mentions />)));
  await settle();
}

afterEach(async () => {
  await act(() => root.unmount());
});

it("mentions are listed with a link to the group, and marked as seen once", async () => {
  await show([MENTION, { ...MENTION, group: 8, seen: true }], 1);
  const [row, old] = [...document.querySelectorAll("[data-testid=mention]")];
  expect(row!.querySelector("a")?.getAttribute("href")).toBe("/groups/7");
  expect(row!.textContent).toContain("@eve: <b>please</b> look.");
  expect(row!.textContent).toContain("new");
  expect(old!.textContent).not.toContain("new");
  expect(sent.filter((one) => one === "POST /api/v1/mentions/seen")).toHaveLength(1);
});

it("nothing is marked as seen when nothing is new", async () => {
  await show([{ ...MENTION, seen: true }]);
  expect(sent).toEqual(["GET /api/v1/mentions"]);
});

it("the screen says that it loads, that nobody mentioned the user, and that it failed", async () => {
  await show("never");
  expect(document.querySelector("[aria-busy=true]")).not.toBeNull();
  await act(() => root.unmount());
  await show([]);
  expect(document.body.textContent).toContain("Nobody has mentioned you yet");
  await act(() => root.unmount());
  await show(null);
  expect(document.body.textContent).toContain("It broke.");
});
