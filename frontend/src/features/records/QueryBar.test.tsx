import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, useRef, useState } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { readFilter, writeFilter, type Filter } from "../../lib/filter";
import { settle } from "../../testing";
import { QueryBar } from "./QueryBar";
import { SavedSearchMenu } from "./SavedSearchMenu";

let root: Root;
let filter: Filter;

function Bar({ query }: { query: string }) {
  const [now, setNow] = useState(() => readFilter(new URLSearchParams(query)));
  const input = useRef<HTMLInputElement>(null);
  const change = (next: Filter) => (setNow(readFilter(writeFilter(next))), (filter = next));
  return (
    <>
      <SavedSearchMenu filter={now} onChange={change} />
      <QueryBar filter={now} groupLabels={new Map()} error={null} input={input} onChange={change}>
        {null}
      </QueryBar>
    </>
  );
}

const SEARCH = { id: 7, name: "mine", query: "a", shared: false, owner: "ada", mine: true };
let sent: string[];

/** The bar with a query; `saved` answers for the searches that are kept. */
async function show(
  query: string,
  saved: Response = Response.json({ results: [SEARCH] }),
  role = "operator",
): Promise<void> {
  vi.stubGlobal("fetch", (url: string, options: RequestInit) => {
    sent.push(`${options.method} ${url}`);
    if (options.method === "DELETE") return Promise.resolve(Response.json({ detail: "It stays." }, { status: 409 }));
    return Promise.resolve(
      url.endsWith("saved-searches") ? saved.clone() : Response.json({ start: 0, end: 0, items: [] }),
    );
  });
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: Infinity } } });
  client.setQueryData(["session"], { role, read_only: false });
  root = createRoot(document.body.appendChild(document.createElement("div")));
  await act(() =>
    root.render(
      <MantineProvider env="test">
        <QueryClientProvider client={client}>
          <Bar query={query} />
        </QueryClientProvider>
      </MantineProvider>,
    ),
  );
  await settle();
}

beforeEach(() => {
  sent = [];
});

afterEach(async () => {
  await act(() => root.unmount());
});

const line = () => document.querySelector<HTMLInputElement>("[role=combobox]")!;
const texts = () => filter.clauses.map((clause) => clause.text);

async function press(selector: string, words = ""): Promise<void> {
  const found = [...document.querySelectorAll<HTMLElement>(selector)].find((one) => one.textContent?.startsWith(words));
  if (!found) throw new Error(`no ${selector} ${words}`);
  await act(() => found.click());
  await settle();
}

async function type(text: string): Promise<void> {
  await act(() => {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set?.call(line(), text);
    line().dispatchEvent(new Event("input", { bubbles: true }));
  });
}

async function key(init: KeyboardEventInit, kind = "keydown"): Promise<void> {
  await act(() => line().dispatchEvent(new KeyboardEvent(kind, { bubbles: true, ...init })));
  await settle();
}

it("a chip that is switched off keeps its place, and two clicks switch it off and on", async () => {
  await show("q=a+b+c");
  await press("[data-testid=clause] button[aria-pressed]", "text a");
  expect(filter.clauses).toEqual([
    { text: "a", off: true },
    { text: "b", off: false },
    { text: "c", off: false },
  ]);
  await press("[data-testid=clause] button[aria-pressed]", "text a");
  expect(filter.clauses).toEqual([
    { text: "a", off: false },
    { text: "b", off: false },
    { text: "c", off: false },
  ]);
});

it("a chip that is edited joins what is typed already", async () => {
  await show("q=a+b+c");
  await type("half");
  await press("[aria-label='Edit a']");
  expect(line().value).toBe("half a");
  expect(texts()).toEqual(["b", "c"]);
});

it("Enter that ends a composition is the input method's", async () => {
  await show("q=a");
  await type("かな");
  await key({ key: "Enter", isComposing: true });
  expect(line().value).toBe("かな");
  await key({ key: "Enter" });
  expect(texts()).toEqual(["a", "かな"]);
});

it("the empty bar lists the fields as soon as it has the focus, and Escape leaves it", async () => {
  await show("q=a");
  await act(() => line().focus());
  await settle();
  expect(sent.filter((url) => url.includes("complete"))).toEqual(["GET /api/v1/dead-letters/complete?q=&at=0"]);
  await key({ key: "Escape" });
  expect(document.activeElement).not.toBe(line());
});

it("suggestions follow the cursor", async () => {
  await show("");
  await type("stage:x");
  line().setSelectionRange(3, 3);
  await key({ key: "ArrowLeft" }, "keyup");
  expect(sent.at(-1)).toMatch(/at=3$/);
});

it("a search runs where the browser keeps nothing", async () => {
  await show("");
  vi.spyOn(Storage.prototype, "setItem").mockImplementation(() => {
    throw new DOMException("full", "QuotaExceededError");
  });
  await type("word");
  await key({ key: "Enter" });
  expect(texts()).toEqual(["word"]);
});

it("saved searches that did not come are told so", async () => {
  await show("", Response.json({ detail: "It broke." }, { status: 500 }));
  await press("button", "Saved searches");
  expect(document.querySelector("[role=alert]")?.textContent).toBe("Saved searches could not be loaded: It broke.");
});

it("a saved search is deleted only after a yes, and a refusal is told", async () => {
  await show("");
  await press("button", "Saved searches");
  await press("[aria-label='Delete mine']");
  expect(sent.filter((one) => one.startsWith("DELETE"))).toEqual([]);
  await press("[role=dialog] button[type=submit]");
  expect(sent.at(-1)).toMatch(/^DELETE .*saved-searches\/7$/);
  expect(document.querySelector("[role=dialog] [role=alert]")?.textContent).toBe("It stays.");
});

it("who may not save sees why", async () => {
  await show("", undefined, "viewer");
  await press("button", "Saved searches");
  expect(document.body.textContent).toContain("Needs the role operator");
});

async function fill(label: string, value: string): Promise<void> {
  const input = document.querySelector<HTMLInputElement>(`[aria-label="${label}"]`)!;
  await act(() => {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set?.call(input, value);
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

it("a start and an end are chosen by date, and a bound that stays keeps its seconds", async () => {
  await show("q=a&from=2026-11-20T10:30:15Z&to=2026-11-20T12:00:00Z");
  const select = document.querySelector<HTMLSelectElement>("[aria-label=Time]")!;
  await act(() => {
    select.value = "choose";
    select.dispatchEvent(new Event("change", { bubbles: true }));
  });
  await fill("End, UTC", "2026-11-20T10:00");
  expect(document.querySelector("[aria-disabled=true]")?.textContent).toBe("Apply");
  await fill("End, UTC", "2026-11-20T11:00");
  await press("button", "Apply");
  expect([filter.from, filter.to, texts()]).toEqual(["2026-11-20T10:30:15Z", "2026-11-20T11:00:00Z", ["a"]]);
  expect(document.querySelector("[type=datetime-local]")).toBeNull();
});
