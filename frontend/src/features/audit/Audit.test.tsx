import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { useLocation } from "react-router";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { AuditEntry } from "../../api/audit";
import { inApp, settle } from "../../testing";
import { Audit } from "./Audit";

const ENTRY: AuditEntry = {
  id: 1,
  at: "2026-11-21T03:04:12Z",
  actor: "ada",
  action: "approve",
  object: "replay R-12",
  object_type: "replay",
  object_id: "R-12",
  sentence: "approved replay R-12",
  reason: "checked by hand",
  outcome: "done",
  href: "/replays/12",
  detail: { records: 3, said: "<b>approved</b>" },
  digest: "d",
  seq: 7,
  seal: "5ea1",
  address: "192.0.2.1",
};
const FAILURE: AuditEntry = {
  ...ENTRY,
  id: 2,
  actor: "",
  action: "sign-in failed",
  object: "session eve",
  sentence: "failed to sign in as eve",
  reason: "",
  outcome: "failed",
  href: null,
  seq: null,
  seal: "",
};
const OPTIONS = { actors: ["ada", "bob"], actions: ["approve", "sign-in failed"], types: ["replay", "session"] };
const SEALED = { unsealed_seconds: 0, unshipped: 0, shipping_trouble: "" };

let root: Root | undefined;
let requests: URLSearchParams[];
let page: (query: URLSearchParams) => object;
let trail: object;

beforeEach(() => {
  requests = [];
  page = () => ({ results: [FAILURE, ENTRY], next: null, searched_to: null });
  trail = SEALED;
  vi.stubGlobal("fetch", (url: string) => {
    const [path = "", query] = url.split("?");
    if (path.endsWith("/audit/options")) return Promise.resolve(Response.json(OPTIONS));
    if (path.endsWith("/health")) return Promise.resolve(Response.json({ audit: trail }));
    const params = new URLSearchParams(query);
    requests.push(params);
    return Promise.resolve(Response.json(page(params)));
  });
});

afterEach(async () => {
  await act(() => root?.unmount());
  root = undefined;
});

function Address() {
  const { pathname, search } = useLocation();
  return <output>{pathname + search}</output>;
}

function address(): string | null | undefined {
  return document.querySelector("output")?.textContent;
}

async function open(search = "", role = "operator"): Promise<HTMLElement> {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  client.setQueryData(["session"], { role, payload_reader: true, read_only: false });
  const host = document.body.appendChild(document.createElement("div"));
  root = createRoot(host);
  await act(() =>
    root?.render(
      inApp(
        client,
        <>
          <Audit />
          <Address />
        </>,
        `/audit${search}`,
      ),
    ),
  );
  await settle();
  return host;
}

function field<T extends HTMLElement = HTMLInputElement>(screen: HTMLElement, label: string): T {
  const found = screen.querySelector<T>(`[aria-label="${label}"]`);
  if (!found) throw new Error(`There is no field ${label}.`);
  return found;
}

function button(screen: HTMLElement, text: string): HTMLElement {
  const found = [...screen.querySelectorAll("button")].find((one) => one.textContent === text);
  if (!found) throw new Error(`There is no button ${text}.`);
  return found;
}

async function choose(select: HTMLSelectElement, value: string): Promise<void> {
  await act(() => {
    select.value = value;
    select.dispatchEvent(new Event("change", { bubbles: true }));
  });
  await settle();
}

async function click(element: HTMLElement): Promise<void> {
  await act(() => element.click());
  await settle();
}

it("shows who did what, why, and a link to the object", async () => {
  const screen = await open();
  const [failure, approval] = [...screen.querySelectorAll("[data-testid=audit-entry]")];
  expect(approval?.textContent).toContain("approved replay R-12");
  expect(approval?.textContent).toContain("checked by hand");
  expect(approval?.querySelector("a")?.getAttribute("href")).toBe("/replays/12");
  expect(failure?.textContent).toContain("nobody");
  expect(failure?.textContent).toContain("failed failed to sign in as eve");
  expect(failure?.querySelector("a")).toBeNull();
});

it("shows the rest of an entry as text", async () => {
  const screen = await open();
  const details = [...screen.querySelectorAll("details")].map((one) => one.textContent);
  expect(details[1]).toContain("<b>approved</b>");
  expect(details[1]).toContain("entry 7, 5ea1");
  expect(details[1]).toContain("192.0.2.1");
  expect(details[0]).toContain("not sealed yet");
});

it("leaves out reads of payloads until the switch shows them", async () => {
  const screen = await open();
  expect(Object.fromEntries(requests[0]!)).toEqual({ reads: "false", from: "now-7d", to: "now" });
  await click(screen.querySelector<HTMLElement>("input[type=checkbox]")!);
  expect(address()).toBe("/audit?reads=true");
  expect(requests.at(-1)!.has("reads")).toBe(false);
});

it("takes its filters from the address", async () => {
  const screen = await open("?actor=zoe&outcome=failed&text=eve&object=R-12&range=30d");
  expect(Object.fromEntries(requests[0]!)).toEqual({
    ...{ actor: "zoe", outcome: "failed", text: "eve", object: "R-12" },
    ...{ reads: "false", from: "now-30d", to: "now" },
  });
  expect(field(screen, "Search").value).toBe("eve");
  // A person without entries is no option, but the address asks for this one.
  expect(field<HTMLSelectElement>(screen, "Actor").value).toBe("zoe");
  await click(button(screen, "Clear the filters"));
  expect(address()).toBe("/audit?range=30d");
  expect(field(screen, "Search").value).toBe("");
});

it("puts a chosen filter into the address", async () => {
  const screen = await open();
  await choose(field<HTMLSelectElement>(screen, "Actor"), "bob");
  await choose(field<HTMLSelectElement>(screen, "Action"), "approve");
  expect(address()).toBe("/audit?actor=bob&action=approve");
  expect(requests.at(-1)!.get("actor")).toBe("bob");
});

it("searches when the text is entered, and keeps the focus in the box", async () => {
  const screen = await open();
  const box = field(screen, "Search");
  box.focus();
  box.value = "checked by hand";
  await act(() => box.form!.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true })));
  await settle();
  expect(address()).toBe("/audit?text=checked+by+hand");
  expect(document.activeElement).toBe(box);
});

it("says that nothing matches, and how to widen the search", async () => {
  page = () => ({ results: [], next: null, searched_to: null });
  const screen = await open("?actor=ada");
  expect(screen.textContent).toContain("No entries match in the last 7 d");
  expect(screen.textContent).toContain("Reads of payloads are hidden.");
  await click(button(screen, "Show the last 30 d"));
  expect(address()).toBe("/audit?actor=ada&range=30d");
});

it("goes on with a search that stopped", async () => {
  page = (query) =>
    query.has("cursor")
      ? { results: [ENTRY], next: null, searched_to: null }
      : { results: [], next: "c1", searched_to: "2026-11-20T10:00:00Z" };
  const screen = await open("?text=hand");
  expect(screen.textContent).toContain("Searched back to 20 Nov 10:00.");
  expect(screen.textContent).not.toContain("No entries match");
  await click(button(screen, "Search older entries"));
  expect(requests.at(-1)!.get("cursor")).toBe("c1");
  expect(screen.querySelectorAll("[data-testid=audit-entry]")).toHaveLength(1);
});

it("exports what the filter shows", async () => {
  const screen = await open("?actor=ada");
  await click(button(screen, "Export ▾"));
  const links = [...document.querySelectorAll<HTMLAnchorElement>("a[download]")].map((one) => one.getAttribute("href"));
  expect(links).toEqual([
    "/api/v1/audit/export?actor=ada&reads=false&from=now-7d&to=now&format=ndjson",
    "/api/v1/audit/export?actor=ada&reads=false&from=now-7d&to=now&format=csv",
  ]);
});

it("tells a viewer the role that an export needs", async () => {
  const screen = await open("", "viewer");
  expect(button(screen, "Export ▾").getAttribute("aria-description")).toBe("Needs the role operator");
});

it("warns of entries that nobody seals", async () => {
  trail = { ...SEALED, unsealed_seconds: 600 };
  const screen = await open();
  expect(screen.textContent).toContain("The oldest entry without a seal is 10 min old.");
});
