import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { enter, inApp, settle } from "../../testing";
import { People } from "./People";
import { origin, ownedText, patterns, toggled } from "./roles";

const TEAM = {
  id: 7,
  name: "stations",
  topics: ["stations.*"],
  connectors: ["stations-*"],
  people: 2,
  version: "v1",
  may_change_people: true,
};
const SAM = {
  kind: "user" as const,
  id: 3,
  name: "sam",
  active: true,
  administrator: false,
  roles: ["operator"],
  included: ["viewer"],
  teams: [],
  members: [],
  groups: [],
  invited_by: "ada",
  last_seen: null,
  barred: null,
};

let requests: { method: string; url: string; body: unknown }[];
let team: typeof TEAM | null;
let refusal: Response | undefined;
let root: Root;

beforeEach(() => {
  requests = [];
  team = TEAM;
  refusal = undefined;
  vi.stubGlobal("fetch", (url: string, init: RequestInit) => {
    const method = init.method ?? "GET";
    if (method !== "GET") {
      requests.push({ method, url, body: init.body ? JSON.parse(init.body as string) : null });
      return Promise.resolve(refusal ?? Response.json(SAM));
    }
    if (url.endsWith("/teams")) return Promise.resolve(Response.json({ results: team ? [team] : [] }));
    if (url.endsWith("/teams/facts"))
      return Promise.resolve(
        Response.json({ open: [{ team: 7, open: 495 }], unowned: [{ cluster: "local", topic: "connect-test" }] }),
      );
    if (url.includes("/people")) return Promise.resolve(Response.json({ results: [SAM], more: false }));
    return Promise.resolve(Response.json({ results: [], default_days: 90, max_days: 365 }));
  });
});

afterEach(async () => {
  await act(() => root.unmount());
});

async function show(administrator: boolean): Promise<void> {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(["session"], { authenticated: true, username: "ada", administrator, rights: [], teams: [] });
  root = createRoot(document.body.appendChild(document.createElement("div")));
  await act(() => root.render(inApp(client, <People />, "/settings/people")));
  await settle();
}

const tick = (label: string) =>
  [...document.querySelectorAll<HTMLInputElement>("[data-testid=holder] input")].find((one) =>
    one.getAttribute("aria-label")?.startsWith(`sam: ${label}`),
  )!;
const button = (name: string) =>
  [...document.querySelectorAll("button")].find((one) => one.textContent.startsWith(name))!;

it("a tick is saved with the roles that the person saw, and included roles are locked", async () => {
  await show(true);
  expect(document.body.textContent).toContain("495");
  expect([tick("Viewer").checked, tick("Viewer").disabled]).toEqual([true, true]);
  expect([tick("Operator").checked, tick("Operator").disabled]).toEqual([true, false]);
  await act(() => tick("Payload reader").click());
  await settle();
  expect(requests).toEqual([
    {
      method: "PUT",
      url: "/api/v1/people/3/roles",
      body: { team: 7, roles: ["operator", "payload reader"], opened: ["operator"] },
    },
  ]);
});

it("a tick keeps the focus while it is saved", async () => {
  await show(true);
  const box = tick("Payload reader");
  await act(() => (box.focus(), box.click()));
  expect(box.disabled).toBe(false);
  expect(document.activeElement).toBe(box);
  await settle();
});

it("without teams there is a sentence about the first step, and no empty table", async () => {
  team = null;
  await show(true);
  const teams = document.querySelector("section[aria-label=Teams]")!;
  expect(teams.textContent).toContain("Add one, and name the topics and connectors that it owns.");
  expect(teams.querySelector("table")).toBeNull();
});

it("a refused change is shown", async () => {
  await show(true);
  refusal = Response.json(
    { title: "Conflict", status: 409, detail: "Somebody else changed these roles." },
    { status: 409 },
  );
  await act(() => tick("Approver").click());
  await settle();
  expect(document.body.textContent).toContain("Somebody else changed these roles.");
});

it("people without the role admin see ticks that they cannot change, and why", async () => {
  team = { ...TEAM, may_change_people: false };
  await show(false);
  expect(tick("Approver").disabled).toBe(true);
  expect(tick("Approver").getAttribute("aria-label")).toContain("Needs the role admin in stations");
  expect(button("Invite by link").getAttribute("aria-description")).toBe("Needs the role admin in stations");
  expect(button("Add a team").getAttribute("aria-description")).toBe("Needs an administrator");
  expect(document.querySelector("[aria-label='API tokens of everybody']")).toBeNull();
});

it("the admin of a team adds a person by name, and a refusal is shown", async () => {
  await show(false);
  await act(() => button("Add a person").click());
  await settle();
  const add = () => [...document.querySelectorAll("button")].find((one) => one.textContent === "Add")!;
  expect(add().getAttribute("aria-description")).toBe("Enter a user name or an e-mail address first");
  await enter(document.querySelector<HTMLInputElement>("[role=dialog] input")!, " mia@example.com ");
  refusal = Response.json({ title: "Not found", status: 404, detail: "There is no active account" }, { status: 404 });
  await act(() => add().click());
  await settle();
  expect(document.body.textContent).toContain("There is no active account");
  refusal = undefined;
  await act(() => add().click());
  await settle();
  const body = { name: "mia@example.com", roles: ["viewer"] };
  expect(requests).toEqual(Array(2).fill({ method: "POST", url: "/api/v1/teams/7/people", body }));
  expect(document.querySelector("[role=dialog]")).toBeNull();
});

it("a topic without an owner is proposed to the chosen team", async () => {
  await show(true);
  await act(() => button("Assign").click());
  await settle();
  const areas = [...document.querySelectorAll("textarea")].map((one) => one.value);
  expect(areas).toEqual(["stations.*\nconnect-test", "stations-*"]);
  await act(() => button("Save").click());
  await settle();
  expect(requests).toEqual([
    {
      method: "PUT",
      url: "/api/v1/teams/7",
      body: { name: "stations", topics: ["stations.*", "connect-test"], connectors: ["stations-*"], version: "v1" },
    },
  ]);
});

it("texts name origins and patterns", () => {
  expect(toggled({ roles: ["viewer"] }, "viewer")).toEqual([]);
  expect(origin({ ...SAM, kind: "group", members: ["a"] })).toBe("sign-in group, 1 person");
  expect(origin({ ...SAM, invited_by: null, groups: ["on call"] })).toBe("in on call");
  expect(ownedText({ topics: ["a", "b"], connectors: ["c", "d"] })).toBe("roles on a, b, c and 1 more");
  expect(patterns(" a.*\n\n b,c ")).toEqual(["a.*", "b", "c"]);
});
