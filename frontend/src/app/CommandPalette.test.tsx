import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { inApp, settle, until } from "../testing";
import { CommandPalette } from "./CommandPalette";

let root: Root;
let asked: string[];
let answer: (path: string) => Promise<Response>;

/** Answer each request: no names, and a record at all coordinates. */
function usual(path: string): Promise<Response> {
  return Promise.resolve(
    new Response(
      JSON.stringify(
        path.includes("/at/")
          ? { id: 7, by: "dead_letter" }
          : path.endsWith("facets")
            ? { facets: {}, exact: true }
            : { results: [], next: null },
      ),
    ),
  );
}

beforeEach(() => {
  [asked, answer] = [[], usual];
  vi.stubGlobal(
    "fetch",
    vi.fn((url: string) => {
      const path = new URL(url, "http://here").pathname;
      asked.push(path);
      return answer(path);
    }),
  );
});

afterEach(async () => {
  await act(() => root.unmount());
});

const labels = () =>
  [...document.querySelectorAll("[role=option]")].map((one) => one.querySelector(".cut")?.textContent);

async function type(...texts: string[]): Promise<void> {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  client.setQueryData(["session"], { role: "operator", read_only: false, payload_reader: true });
  root = createRoot(document.body.appendChild(document.createElement("div")));
  await act(() => root.render(inApp(client, <CommandPalette onClose={() => undefined} />)));
  const input = document.querySelector("input")!;
  const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")!.set!;
  for (const text of texts)
    await act(() => (set.call(input, text), input.dispatchEvent(new Event("input", { bubbles: true }))));
  await settle(400);
}

const note = () => document.querySelector("[role=dialog] [role=status]")?.textContent;

it("looks coordinates up once, when the typing has stopped", async () => {
  await type("t/0/1", "t/0/12", "t/0/123");
  await until(() => document.querySelector("[role=option]"));
  expect(asked.filter((path) => path.includes("/at/"))).toEqual(["/api/v1/dead-letters/at/t/0/123"]);
  expect(document.querySelector("[role=option]")?.textContent).toContain("t / 0 / 123");
});

it("does not say that there is nothing while names are still to come", async () => {
  answer = () => new Promise(() => undefined);
  await type("zzz");
  expect(note()).toBe("Looking…");
});

it("does not say that there is nothing when names could not be loaded", async () => {
  answer = (path) => (path.endsWith("connectors") ? Promise.resolve(new Response("{}", { status: 500 })) : usual(path));
  await type("zzz");
  await until(() => note()?.startsWith("The names of the connectors could not be loaded."));
});

it("says among what there was nothing", async () => {
  await type("zzz");
  await until(() => note() !== "Looking…");
  expect(note()).toBe(
    "Not among the screens, the dead letter topics of 30 d, the groups of 30 d, the newest replays, the newest bulk fixes, the connectors or the alert rules. A record is found by topic/partition/offset.",
  );
});

function json(body: object, status = 200): Promise<Response> {
  return Promise.resolve(new Response(JSON.stringify(body), { status }));
}

it("finds replays by number and title, also older ones, and bulk fixes", async () => {
  answer = (path) => {
    if (path.endsWith("/replays/3")) return json({ id: 3, title: "an old one" });
    if (path.endsWith("/replays")) return json({ results: [{ id: 12, title: "orders of May" }], next: null });
    if (path.endsWith("/bulk-fixes"))
      return json({ results: [{ id: 4, status: "done", selection: { title: "orders null" } }] });
    return usual(path);
  };
  await type("orders");
  await until(() => labels().length === 3);
  expect(labels()).toEqual(["R-12 orders of May", "B-4 orders null", "Records with a key that begins with orders"]);
  await act(() => root.unmount());
  await type("r-3");
  await until(() => labels()[0] === "R-3 an old one");
});

it("offers actions: those that write lead to the page of their object", async () => {
  answer = (path) =>
    path.endsWith("connectors")
      ? json({ results: [{ cluster: "engine", name: "usgs", state: "RUNNING" }], next: null })
      : usual(path);
  await type("pause");
  await until(() => labels()[0] === "Pause connector usgs…");
  await act(() => root.unmount());
  await type("theme");
  expect(labels()[0]).toBe("Switch to dark theme");
  await act(() => document.querySelector<HTMLElement>("[role=option]")!.click());
  expect(document.documentElement.dataset.mantineColorScheme).toBe("dark");
});
