import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, useState, type ReactNode } from "react";
import { flushSync } from "react-dom";
import { createRoot, type Root } from "react-dom/client";
import { MemoryRouter } from "react-router";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ReplayButton } from "../features/plan/ReplayButton";
import { useKeys } from "../lib/keys";
import { settle } from "../testing";
import { KeyboardHelp } from "./KeyboardHelp";
import { shortcutsAt } from "./shortcuts";

const SOURCES = import.meta.glob<string>("../features/*/*.tsx", { query: "?raw", import: "default", eager: true });
const SCREENS = {
  "/groups/7": ["groups"],
  "/records": ["records", "plan"],
  "/records/7": ["record", "plan"],
  "/replays/7": ["replays"],
  "/audit": ["audit"],
};
const NAMES: Record<string, string> = { "↵": "Enter", Esc: "Escape", Space: " " };

let root: Root;
let sent: { url: string; body: unknown }[];

function answer(url: RequestInfo | URL, init?: RequestInit) {
  sent.push({ url: String(url), body: init?.body ? JSON.parse(init.body as string) : null });
  const body = String(url).endsWith("session")
    ? { authenticated: true, username: "eve", role: "operator", read_only: false }
    : { id: 58 };
  return Promise.resolve(new Response(JSON.stringify(body), { headers: { "Content-Type": "application/json" } }));
}

beforeEach(() => {
  sent = [];
  vi.stubGlobal("fetch", answer);
});

afterEach(() => {
  act(() => root.unmount());
});

async function show(path: string, children: ReactNode) {
  root = createRoot(document.body.appendChild(document.createElement("div")));
  const client = new QueryClient();
  await act(() =>
    root.render(
      <MantineProvider>
        <QueryClientProvider client={client}>
          <MemoryRouter initialEntries={[path]}>{children}</MemoryRouter>
        </QueryClientProvider>
      </MantineProvider>,
    ),
  );
  await settle();
}

async function press(key: string, target: Element = document.body) {
  await act(() => target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })));
  await settle();
}

const selections = () => sent.filter((one) => one.url.endsWith("selections"));

describe("the key r", () => {
  it("freezes what stands beside it", async () => {
    await show("/groups/7", <ReplayButton what={{ filter: "group=7" }}>Replay 3…</ReplayButton>);
    await press("r");
    expect(selections().map((one) => one.body)).toEqual([{ filter: "group=7" }]);
  });
  it("does nothing where the bytes are gone, nor while somebody types", async () => {
    await show(
      "/records/7",
      <>
        <ReplayButton what={{ ids: [7] }} barred="Not replayable: expired">
          Replay…
        </ReplayButton>
        <input />
      </>,
    );
    await press("r");
    await press("r", document.querySelector("input")!);
    expect(selections()).toEqual([]);
  });
});

function Screen({ seen }: { seen: string[] }) {
  const [open, setOpen] = useState(true);
  useKeys({ Escape: () => void seen.push("Escape"), r: () => void seen.push("r") });
  return open && <KeyboardHelp onClose={() => flushSync(() => setOpen(false))} />; // as in a browser, where it is closed before the next listener
}

describe("the key help", () => {
  it("lists the keys of the screen, which do nothing meanwhile", async () => {
    const seen: string[] = [];
    await show("/records/7", <Screen seen={seen} />);
    expect(document.querySelector("[role=dialog]")?.textContent).toContain("plan a replay of it");
    await press("r");
    await press("Escape");
    expect(document.querySelector("[role=dialog]")).toBeNull();
    expect(seen).toEqual([]);
    await press("Escape");
    expect(seen).toEqual(["Escape"]);
  });
  it.each(Object.entries(SCREENS))("names every key that %s hears", async (path, features) => {
    await show(path, null);
    const named = shortcutsAt(path).flatMap(({ rows }) =>
      rows.flatMap(({ keys }) => keys.map((key) => NAMES[key] ?? key)),
    );
    const heard = features.flatMap((feature) =>
      Object.entries(SOURCES)
        .filter(([file]) => file.includes(`/${feature}/`))
        .flatMap(([, source]) => keysIn(source)),
    );
    expect(heard.length).toBeGreaterThan(0);
    expect(heard.filter((key) => !/^Arrow|^X$/.test(key) && !named.includes(key))).toEqual([]);
  });
});

function Keys({ seen }: { seen: string[] }) {
  const note = (name: string) => () => void seen.push(name);
  useKeys({ r: note("r"), "g r": note("g r"), "Mod+k": note("Mod+k") });
  return <input />;
}

describe("keys in a row, or with Ctrl", () => {
  it("are one name, and the second key alone is not heard then", async () => {
    const seen: string[] = [];
    await show("/", <Keys seen={seen} />);
    for (const key of ["g", "Shift", "r", "r", "g", "x", "r"]) await press(key);
    expect(seen).toEqual(["g r", "r", "r"]);
  });
  it("are forgotten after a while", async () => {
    const seen: string[] = [];
    await show("/", <Keys seen={seen} />);
    await press("g");
    vi.setSystemTime(Date.now() + 2_000);
    await press("r");
    expect(seen).toEqual(["r"]);
  });
  it("go to the palette even while somebody types", async () => {
    const seen: string[] = [];
    await show("/", <Keys seen={seen} />);
    const field = document.querySelector("input")!;
    await act(() => field.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true, bubbles: true })));
    await press("r", field);
    expect(seen).toEqual(["Mod+k"]);
  });
});

function Pressable({ seen }: { seen: string[] }) {
  const note = (name: string) => () => void seen.push(name);
  useKeys({ Enter: note("Enter"), " ": note("Space"), x: note("x"), Escape: note("Escape") });
  return (
    <>
      <button>Go</button>
      <a href="/there">There</a>
      <input type="checkbox" />
      <b tabIndex={0} data-choosing />
    </>
  );
}

describe("what has the focus", () => {
  it.each(["button", "a", "input"])("a %s is pressed by Enter and Space, and nothing else hears them", async (name) => {
    const seen: string[] = [];
    await show("/", <Pressable seen={seen} />);
    for (const key of ["Enter", " ", "x"]) await press(key, document.querySelector(name)!);
    for (const key of ["Enter", " "]) await press(key);
    expect(seen).toEqual(["x", "Enter", "Space"]);
  });
  it("gives up its columns before anything else hears Escape", async () => {
    const seen: string[] = [];
    await show("/", <Pressable seen={seen} />);
    await press("Escape");
    expect(seen).toEqual([]);
    document.querySelector("[data-choosing]")!.removeAttribute("data-choosing");
    await press("Escape");
    expect(seen).toEqual(["Escape"]);
  });
});

/** The names of the handlers that are given to useKeys. */
function keysIn(source: string): string[] {
  const block = /useKeys\(\{(.*?)\}\);/s.exec(source)?.[1] ?? "";
  return [...block.matchAll(/(?:^|\n)\s*(?:"(.+?)"|(\w+)): \(|^ ?(\w): \(/g)].map(
    ([, quoted, plain, one]) => quoted ?? plain ?? one ?? "",
  );
}
