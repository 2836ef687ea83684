import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { MaskingRule } from "../../api/masking";
import { inApp, settle } from "../../testing";
import { Masking } from "./Masking";

const RULE: MaskingRule = {
  id: 3,
  topics: ["usgs.felt-reports*"],
  kind: "json path",
  field: "$.contact.phone",
  show: "last four",
  except_roles: [{ team: 1, role: "admin" }],
  reason: "PRIV-31",
  active: true,
  created_by: "ann",
  created_at: "2026-11-27T10:00:00Z",
  editable: true,
};
const PREVIEW = {
  of: 200,
  masked: 188,
  without_path: 11,
  hidden_whole: 1,
  excepted: false,
  example: { dead_letter: 17, before: '{"phone":"+1 907 555 0142"}', after: '{"phone":"***0142"}' },
};
const SESSION = { role: "operator", administrator: true, read_only: false, teams: [{ roles: ["admin"] }] };
const TEAMS = [
  { id: 1, name: "stations", may_change_people: true },
  { id: 2, name: "feeds", may_change_people: false },
];

let root: Root;
let session: typeof SESSION;
let sent: { method: string; url: string; body: unknown }[];

beforeEach(() => {
  sent = [];
  vi.stubGlobal("fetch", (url: string, { method = "GET", body }: RequestInit) => {
    sent.push({ method, url, body: typeof body === "string" ? JSON.parse(body) : undefined });
    if (url.endsWith("/session")) return Promise.resolve(Response.json(session));
    if (url.endsWith("/teams")) return Promise.resolve(Response.json({ results: TEAMS }));
    if (url.endsWith("/preview")) return Promise.resolve(Response.json(PREVIEW));
    if (method === "DELETE") return Promise.resolve(new Response(null, { status: 204 }));
    return Promise.resolve(Response.json(method === "GET" ? { results: [RULE] } : RULE));
  });
});

async function show(changes: Partial<typeof SESSION> = {}): Promise<void> {
  session = { ...SESSION, ...changes };
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  client.setQueryData(["session"], session);
  root = createRoot(document.body.appendChild(document.createElement("div")));
  await act(() => root.render(inApp(client, <Masking />)));
  await settle();
}

afterEach(async () => {
  await act(() => root.unmount());
});

async function press(name: string): Promise<void> {
  const found = [...document.querySelectorAll<HTMLElement>("button")].filter((one) => one.textContent === name);
  await act(() => found.at(-1)!.click());
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

async function choose(label: string, value: string): Promise<void> {
  const select = document.querySelector<HTMLSelectElement>(`select[aria-label="${label}"]`)!;
  await act(() => {
    select.value = value;
    select.dispatchEvent(new Event("change", { bubbles: true }));
  });
}

const places = () =>
  [...document.querySelectorAll('select[aria-label="Where the role is held"] option')].map((one) => one.textContent);

it("lists the rules with their reasons", async () => {
  await show();
  for (const text of ["usgs.felt-reports*", "$.contact.phone", "last four", "PRIV-31"])
    expect(document.body.textContent).toContain(text);
});

it("saves a changed rule with its exceptions", async () => {
  await show();
  await press("Change… rule 3");
  expect(document.body.textContent).toContain("admin in stations");
  await fill("Field", "$.phone");
  await press("Save rule 3");
  const put = sent.find((one) => one.method === "PUT")!;
  expect(put.url).toContain("masking-rules/3");
  expect(put.body).toMatchObject({ field: "$.phone", except_roles: [{ team: 1, role: "admin" }] });
});

it("the admin of a team excepts roles in the team, and in no other place", async () => {
  await show({ administrator: false });
  await press("Change… rule 3");
  expect(places()).toEqual(["stations"]);
  await choose("Add a role", "operator");
  await press("Save rule 3");
  expect(sent.find((one) => one.method === "PUT")!.body).toMatchObject({
    except_roles: [
      { team: 1, role: "admin" },
      { team: 1, role: "operator" },
    ],
  });
});

it("an administrator excepts roles everywhere or in a team", async () => {
  await show();
  await press("Change… rule 3");
  expect(places()).toEqual(["Everywhere", "stations"]);
  await choose("Add a role", "operator");
  await choose("Where the role is held", "1");
  await choose("Add a role", "viewer");
  await press("Save rule 3");
  expect(sent.find((one) => one.method === "PUT")!.body).toMatchObject({
    except_roles: [
      { team: 1, role: "admin" },
      { team: null, role: "operator" },
      { team: 1, role: "viewer" },
    ],
  });
});

it("previews an unsaved rule, before and after, and walks through examples", async () => {
  await show();
  await press("Change… rule 3");
  await fill("Dead letter topic", "usgs.dlq");
  await press("Preview");
  const text = document.querySelector("section[aria-label=Preview]")!.textContent;
  expect(text).toContain("188 of 200 masked, 11 without this path, 1 not JSON, hidden whole");
  expect(text).toContain("***0142");
  await press("j ›");
  expect(sent.at(-1)!.body).toMatchObject({ topic: "usgs.dlq", index: 1 });
});

it("a preview is gone as soon as the rule changes", async () => {
  await show();
  await press("Change… rule 3");
  await fill("Dead letter topic", "usgs.dlq");
  await press("Preview");
  expect(document.body.textContent).toContain("188 of 200 masked");
  await fill("Field", "$.name");
  expect(document.body.textContent).not.toContain("188 of 200 masked");
});

it("a form begins in its first field, and returns the focus to its opener", async () => {
  await show();
  const opener = [...document.querySelectorAll("button")].find((one) => one.textContent === "Add a rule…")!;
  await act(() => (opener.focus(), opener.click()));
  expect((document.activeElement as HTMLInputElement).placeholder).toBe("orders.*");
  await press("Discard");
  expect(document.activeElement).toBe(opener);
});

it("removes a rule after a question", async () => {
  await show();
  await press("Remove… rule 3");
  await press("Remove");
  expect(sent.some((one) => one.method === "DELETE" && one.url.includes("masking-rules/3"))).toBe(true);
});
