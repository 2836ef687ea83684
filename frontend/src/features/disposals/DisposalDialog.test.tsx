import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, type ReactNode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { DisposalDialog } from "./DisposalDialog";
import { DisposalMenu } from "./DisposalMenu";
import { DisposalToast } from "./DisposalToast";
import { enter, settle } from "../../testing";
import { showDisposalToast } from "./disposalToasts";

const DONE = {
  id: 3,
  selection: 9,
  kind: "discarded",
  reason: "why",
  by: "me",
  at: "",
  done_at: "2026-11-22T00:00:00Z",
  trouble: "",
  count: 2,
  changed: 2,
  kept: 0,
  busy: 0,
  undoes: null,
  undone_by: null,
  said: "2 records discarded",
};

let host: HTMLElement;
let root: Root;
let requests: { path: string; body: unknown; key: string | null }[];
let responses: Record<string, () => Promise<Response>>;

beforeEach(() => {
  host = document.body.appendChild(document.createElement("div"));
  root = createRoot(host);
  requests = [];
  responses = {
    selections: () => json(201, { id: 9 }),
    disposals: () => json(201, DONE),
    "disposals/3/undo": () => json(201, { ...DONE, id: 4, kind: "restored", undoes: 3, said: "2 records restored" }),
  };
  vi.stubGlobal("fetch", (url: string, init: RequestInit) => {
    const path = url.replace("/api/v1/", "");
    requests.push({
      path,
      body: typeof init.body === "string" ? JSON.parse(init.body) : null,
      key: new Headers(init.headers).get("Idempotency-Key"),
    });
    return responses[path]!();
  });
});

afterEach(async () => {
  await act(() => (showDisposalToast(null), root.unmount()));
  host.remove();
});

function json(status: number, body: unknown): Promise<Response> {
  return Promise.resolve(new Response(JSON.stringify(body), { status }));
}

async function show(children: ReactNode, role = "operator"): Promise<void> {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(["session"], { role, read_only: false });
  await act(() =>
    root.render(
      <MantineProvider env="test">
        <QueryClientProvider client={client}>
          {children}
          <DisposalToast />
        </QueryClientProvider>
      </MantineProvider>,
    ),
  );
}

const button = (name: string) => [...document.querySelectorAll("button")].find((one) => one.textContent === name)!;
const toast = () => document.querySelector("[data-testid=disposal-toast]")?.textContent ?? "";

async function press(name: string): Promise<void> {
  await act(async () => button(name).click());
  await settle();
}

const type = (text: string) => enter(document.querySelector("textarea")!, text);

const dialog = (onClose = () => {}) => (
  <DisposalDialog decision="discard" what={{ ids: [1, 2] }} subject="2 records" onClose={onClose} />
);

it("a decision needs a reason", async () => {
  await show(dialog());
  expect(button("Discard").getAttribute("aria-description")).toBe("Enter a reason first");
});

it("a decision freezes a selection, stores a disposal and shows a toast with its undo", async () => {
  await show(dialog());
  await type("test data");
  await press("Discard");
  expect(requests.map(({ path, body }) => [path, body])).toEqual([
    ["selections", { ids: [1, 2] }],
    ["disposals", { selection: 9, kind: "discard", reason: "test data" }],
  ]);
  expect(toast()).toContain("2 records discarded.");
  await press("Undo");
  expect(toast()).toContain("2 records restored.");
  expect(button("Undo")).toBeUndefined();
});

it("a refusal keeps the dialog and the reason, and the next request has a new key", async () => {
  responses.disposals = () =>
    json(409, { title: "Conflict", status: 409, detail: "1 record of these are in R-4, which runs." });
  await show(dialog());
  await type("test data");
  await press("Discard");
  expect(document.querySelector("[role=dialog]")!.textContent).toContain("in R-4, which runs");
  expect(document.querySelector("textarea")!.value).toBe("test data");
  await press("Discard");
  expect(requests[3]!.key).not.toBe(requests[1]!.key);
});

it("a request without a response is repeated with the same key", async () => {
  responses.disposals = () => Promise.reject(new TypeError("network"));
  await show(dialog());
  await type("test data");
  await press("Discard");
  await press("Discard");
  expect(requests[3]!.key).toBe(requests[1]!.key);
});

it("the toast shows the error although the dialog was closed", async () => {
  let respond: (response: Response) => void = () => {};
  responses.disposals = () => new Promise((done) => (respond = done));
  await show(dialog());
  await type("test data");
  await press("Discard");
  await show(null);
  await act(async () => respond(await json(409, { title: "Conflict", status: 409, detail: "It runs." })));
  await settle();
  expect(toast()).toContain("Not done: It runs.");
});

it("the menu tells a viewer the missing role", async () => {
  await show(<DisposalMenu what={{ ids: [1] }} subject="this record" />, "viewer");
  expect(button("Set aside ▾").getAttribute("aria-description")).toMatch(/operator/);
});
