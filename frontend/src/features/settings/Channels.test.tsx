import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Channel } from "../../api/channels";
import { inApp, settle } from "../../testing";
import { Channels } from "./Channels";

const HOOK: Channel = {
  id: 1,
  name: "on call",
  kind: "webhook",
  description: "Webhook to hooks.example",
  created_by: "ann",
  created_at: "2026-11-27T10:00:00Z",
  last_used_at: null,
  last_result: "",
  may_have_samples: false,
};

let root: Root;
let sent: { method: string; url: string; body: unknown }[];
let answers: Record<string, () => Response>;

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse("2026-11-28T10:00:00Z") });
  sent = [];
  answers = { "GET channels": () => Response.json({ channels: [HOOK] }) };
});

afterEach(async () => {
  await act(() => root.unmount());
  vi.useRealTimers();
});

async function show(administrator = true): Promise<void> {
  vi.stubGlobal("fetch", (url: string, { method = "GET", body }: RequestInit) => {
    sent.push({ method, url, body: typeof body === "string" ? JSON.parse(body) : undefined });
    return Promise.resolve(answers[`${method} ${url.replace("/api/v1/", "")}`]!());
  });
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  client.setQueryData(["session"], { role: "operator", administrator, read_only: false });
  root = createRoot(document.body.appendChild(document.createElement("div")));
  await act(() => root.render(inApp(client, <Channels />)));
  await settle();
}

const text = () => document.body.textContent ?? "";
const button = (name: string) =>
  [...document.querySelectorAll<HTMLElement>("button")].filter((one) => one.textContent === name).at(-1)!;

async function press(name: string): Promise<void> {
  await act(() => button(name).click());
  await settle();
}

async function fill(label: string, value: string): Promise<void> {
  const name = [...document.querySelectorAll("label")].find((one) => one.textContent === label)!;
  const input = document.getElementById(name.htmlFor) as HTMLInputElement;
  await act(() => {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")!.set!.call(input, value);
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

it("the target is stored and not shown, and only administrators change a channel", async () => {
  await show(false);
  expect(text()).toContain("stored, not shown");
  expect(
    ["Add channel…", "Test", "New secret…", "Change…", "Remove…"].map(
      (name) => button(name).ariaDescription ?? button(name).getAttribute("aria-description"),
    ),
  ).toEqual(Array(5).fill("Needs an administrator"));
});

it("the secret of a new webhook is shown once", async () => {
  answers["POST channels"] = () => Response.json({ channel: HOOK, secret: "whsec_abc" }, { status: 201 });
  await show();
  await press("Add channel…");
  await fill("Name", "pager");
  await fill("URL", "https://hooks.example/x");
  await press("Add channel");
  expect(sent.find(({ method }) => method === "POST")!.body).toEqual({
    name: "pager",
    kind: "webhook",
    target: "https://hooks.example/x",
    may_have_samples: false,
  });
  expect(document.querySelector("code")!.textContent).toBe("whsec_abc");
  await act(() => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true })));
  expect(text()).toContain("whsec_abc");
  await press("Done");
  expect(text()).not.toContain("whsec_abc");
});

it("a change without a target keeps the stored one", async () => {
  answers["PUT channels/1"] = () => Response.json({ channel: HOOK, secret: null });
  await show();
  await press("Change…");
  await fill("Name", "pager");
  await press("Save");
  expect(sent.find(({ method }) => method === "PUT")!.body).toEqual({
    name: "pager",
    kind: "webhook",
    target: "",
    may_have_samples: false,
  });
});

const samples = () => document.querySelector<HTMLInputElement>("input[type=checkbox]")!;

it("an administrator allows masked samples", async () => {
  answers["PUT channels/1"] = () => Response.json({ channel: HOOK, secret: null });
  await show();
  expect(text()).not.toContain("may show samples");
  await press("Change…");
  await act(() => samples().click());
  await press("Save");
  expect(sent.find(({ method }) => method === "PUT")!.body).toMatchObject({ may_have_samples: true });
});

it("masked samples are allowed for the stored target only", async () => {
  answers["GET channels"] = () => Response.json({ channels: [{ ...HOOK, may_have_samples: true }] });
  await show();
  expect(text()).toContain("may show samples");
  await press("Change…");
  expect(samples().checked).toBe(true);
  await fill("URL", "https://hooks.example/y");
  expect(samples().checked).toBe(false);
});

it("a test shows its result", async () => {
  answers["POST channels/1/test"] = () => Response.json({ state: "failed", tries: 1, result: "404 Not Found" });
  await show();
  await press("Test");
  expect(text()).toContain("Test refused: 404 Not Found");
});
