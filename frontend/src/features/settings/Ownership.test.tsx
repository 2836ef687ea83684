import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { OwnershipRule, Tracker } from "../../api/ownership";
import { inApp, settle } from "../../testing";
import { Ownership } from "./Ownership";

const USGS: OwnershipRule = { topic: "usgs.*", connector: "", exception: "", username: null, team: "quakes" };
const REST: OwnershipRule = { topic: "", connector: "", exception: "", username: "ada", team: null };
const JIRA: Tracker = {
  id: 3,
  name: "Jira",
  template: "https://issues.example.org/new?title={title}",
  channel: null,
  channel_name: null,
};

let root: Root;
let sent: { call: string; body: unknown }[];
let answers: Record<string, () => Response | Promise<Response>>;

beforeEach(() => {
  sent = [];
  answers = {
    "GET /ownership-rules": () => Response.json({ rules: [USGS, REST] }),
    "GET /issue-trackers": () => Response.json({ results: [JIRA] }),
    "GET /assignees": () => Response.json({ teams: ["quakes"], people: ["ada", "eve"] }),
    "GET /channels": () =>
      Response.json({
        channels: [
          { id: 5, name: "jira hook", kind: "webhook" },
          { id: 6, name: "mails", kind: "email" },
        ],
      }),
    "POST /ownership-rules/preview": () => Response.json({ matches: [3, 1] }),
    "POST /ownership-rules/apply": () => Response.json({ changed: 4 }),
    "PUT /issue-trackers/3": () => Response.json(JIRA),
    "DELETE /issue-trackers/3": () => new Response(null, { status: 204 }),
  };
});

afterEach(async () => {
  await act(() => root.unmount());
});

async function show(rights: Record<string, unknown> = {}): Promise<void> {
  vi.stubGlobal("fetch", (url: string, { method = "GET", body }: RequestInit) => {
    const call = `${method} ${url.replace("/api/v1", "")}`;
    const content: unknown = typeof body === "string" ? JSON.parse(body) : undefined;
    sent.push({ call, body: content });
    if (call === "PUT /ownership-rules") return Promise.resolve(Response.json(content));
    return Promise.resolve(answers[call]!());
  });
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  client.setQueryData(["session"], { role: "operator", administrator: true, read_only: false, ...rights });
  root = createRoot(document.body.appendChild(document.createElement("div")));
  await act(() => root.render(inApp(client, <Ownership />, "/settings/ownership")));
  await settle();
}

const rules = () => [...document.querySelectorAll("[data-testid=ownership-rule]")];
const field = (label: string) => document.querySelector<HTMLInputElement>(`[aria-label="${label}"]`)!;
const button = (name: string, within: ParentNode = document) =>
  [...within.querySelectorAll<HTMLElement>("button")].find((one) => one.textContent === name)!;
const dialog = () => document.querySelector("[role=dialog]")!;
const body = (call: string) => sent.find((one) => one.call === call)?.body;

async function press(name: string, within?: ParentNode): Promise<void> {
  await act(() => button(name, within).click());
  await settle();
}

async function fill(input: HTMLInputElement | HTMLSelectElement, value: string): Promise<void> {
  const kind = input instanceof HTMLSelectElement ? HTMLSelectElement : HTMLInputElement;
  await act(() => {
    Object.getOwnPropertyDescriptor(kind.prototype, "value")!.set!.call(input, value);
    input.dispatchEvent(new Event(kind === HTMLSelectElement ? "change" : "input", { bubbles: true }));
  });
}

it("rules are moved, added and saved in their order", async () => {
  await show();
  await press("↓Move down rule 1");
  await press("Add rule");
  expect(button("Save").getAttribute("aria-description")).toBe("Choose an owner for each rule first");
  await fill(field("Exception of rule 3"), "IntegrityError");
  await fill(field("Owner of rule 3"), "person:eve");
  await press("Save");
  const third = { ...REST, exception: "IntegrityError", username: "eve" };
  expect(body("PUT /ownership-rules")).toEqual({ rules: [REST, USGS, third] });
  expect(button("Save").getAttribute("aria-description")).toBe("Nothing has changed");
});

it("a removed rule is gone after saving", async () => {
  await show();
  await press("Remove rule 1");
  expect(rules()).toHaveLength(1);
  await press("Save");
  expect(body("PUT /ownership-rules")).toEqual({ rules: [REST] });
});

it("a preview counts the groups of each rule, until a rule changes", async () => {
  await show();
  await press("Preview");
  expect(rules().map((one) => one.textContent?.match(/would assign [^.]+ owns/)?.[0])).toEqual([
    "would assign 3 groups that nobody owns",
    "would assign 1 group that nobody owns",
  ]);
  await fill(field("Topic of rule 1"), "stations.*");
  expect(rules()[0]!.textContent).not.toContain("would assign");
});

it("the saved rules are applied after a look at the number of groups", async () => {
  await show();
  await press("Apply to groups that nobody owns…");
  expect(dialog().textContent).toContain("would assign 4 groups that nobody owns");
  expect(body("POST /ownership-rules/apply")).toBeUndefined();
  await press("Assign", dialog());
  expect(dialog().textContent).toContain("4 groups assigned.");
});

it("others see the rules and the reason why they cannot change them", async () => {
  await show({ administrator: false });
  expect(field("Topic of rule 1").readOnly).toBe(true);
  for (const name of ["Add rule", "Save", "Add tracker…", "Remove rule 1"])
    expect(button(name).getAttribute("aria-description")).toBe("Needs an administrator");
});

it("a tracker gets a webhook; channels of other kinds are not offered", async () => {
  await show();
  await press("Change… Jira");
  const select = dialog().querySelector("select")!;
  expect([...select.options].map((one) => one.textContent)).toEqual(["None", "jira hook"]);
  await fill(select, "5");
  await press("Save", dialog());
  expect(body("PUT /issue-trackers/3")).toEqual({ name: "Jira", template: JIRA.template, channel: 5 });
});

it("a tracker is removed after a question", async () => {
  await show();
  await press("Remove… Jira");
  expect(dialog().textContent).toContain("Links to its issues stay.");
  await press("Remove", dialog());
  expect(sent.some(({ call }) => call === "DELETE /issue-trackers/3")).toBe(true);
});

it("the page says what is empty, and what could not be loaded", async () => {
  answers["GET /ownership-rules"] = () => Response.json({ rules: [] });
  answers["GET /issue-trackers"] = () => Response.json({ detail: "It broke." }, { status: 500 });
  await show();
  expect(document.body.textContent).toContain("No rule yet");
  expect(document.body.textContent).toContain("It broke.");
});
