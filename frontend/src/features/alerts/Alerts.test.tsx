import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { Link, Route, Routes } from "react-router";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Alert, AlertRule, AlertTemplates, Delivery } from "../../api/alerts";
import { inApp, settle } from "../../testing";
import { AlertDetail } from "./AlertDetail";
import { Alerts } from "./Alerts";

const KINDS: AlertTemplates["kinds"] = [
  { kind: "new_group", text: "A group is new", fields: [], has_interval: false, has_history: true },
  {
    kind: "group_events",
    text: "A group has more than {more_than} records in the interval",
    fields: [{ name: "more_than", least: 0, most: 1e9, default: null }],
    has_interval: true,
    has_history: true,
  },
];
const NULLS = { within_s: null, more_than: null, at_least: null, percent: null, seconds: null, hours: null };
const TEMPLATES: AlertTemplates = {
  templates: [
    {
      name: "New groups",
      text: "Tells of each new error.",
      match_all: false,
      conditions: [{ ...NULLS, kind: "new_group" }],
      interval_s: 3600,
      digest: false,
    },
  ],
  kinds: KINDS,
  intervals_s: [300, 3600],
  teams: [{ id: 3, name: "shop" }],
  everything: true,
};
const RULE: AlertRule = {
  id: 12,
  name: "New errors",
  team: { id: 3, name: "shop" },
  match_all: false,
  conditions: [
    { ...NULLS, kind: "new_group" },
    { ...NULLS, kind: "group_events", more_than: 20, within_s: 3600 },
  ],
  query: "topic:shop.* -stage:TASK_PUT",
  tells: [{ channel: 1, name: "on call", held: true }],
  interval_s: 3600,
  digest: false,
  quiet: { start: "22:00", end: "07:00", zone: "UTC", weekdays: false },
  escalate: null,
  tell_resolved: true,
  samples: false,
  muted_until: null,
  state: "firing",
  firing: 1,
  acknowledged: 0,
  last_fired: "2026-11-28T09:00:00Z",
  created_by: "ann",
  created_at: "2026-11-27T10:00:00Z",
  updated_at: "2026-11-27T10:00:00Z",
};
const ALERT: Alert = {
  id: 40,
  rule: 12,
  rule_name: "New errors",
  team: 3,
  condition: "new_group",
  subject_kind: "group",
  subject_key: "7",
  title: "JSON: unexpected end",
  href: "/groups/7",
  facts: { records: 11 },
  state: "firing",
  started_at: "2026-11-28T09:00:00Z",
  last_seen: "2026-11-28T09:30:00Z",
  ended_at: null,
  acknowledged_by: null,
  acknowledged_at: null,
  snoozed_until: null,
  escalated_at: null,
};
const DELIVERY: Delivery = {
  id: 5,
  delivery: "msg_1",
  channel: 1,
  channel_name: "on call",
  source: "rule 12",
  event: "alert.opened",
  subject: "JSON: unexpected end",
  link: "https://dlq.example/alerts/firings/40",
  state: "delivered",
  created_at: "2026-11-28T09:00:01Z",
  next_try_at: null,
  delivered_at: "2026-11-28T09:00:02Z",
  tries: 2,
  result: "200 OK",
  log: [],
};
const PREVIEW = {
  times: 1,
  firings: [
    {
      at: "2026-11-27T23:00:00Z",
      condition: "new_group",
      subject_kind: "group",
      subject_key: "7",
      title: "Cast: no number",
      facts: {},
      held: [1],
    },
  ],
  start: "2026-11-21T09:00:00Z",
  bucket_ms: 10_800_000,
  series: [{ stage: "VALUE_CONVERTER", points: [0, 3, 1] }],
  partial: true,
  unknown: [],
};

let root: Root;
let mayHaveSamples: boolean;
let sent: { method: string; url: string; body: unknown }[];
let answers: Record<string, (body: unknown) => Response>;

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse("2026-11-28T10:00:00Z") });
  sent = [];
  mayHaveSamples = true;
  answers = {
    "GET alert-rules": () => rules([RULE]),
    "GET alert-rules/templates": () => Response.json(TEMPLATES),
    "GET channels": () =>
      Response.json({
        channels: [
          {
            id: 1,
            name: "on call",
            kind: "webhook",
            description: "Webhook to hooks.example",
            created_by: "ann",
            created_at: "2026-11-27T10:00:00Z",
            last_used_at: null,
            last_result: "",
            may_have_samples: mayHaveSamples,
          },
        ],
      }),
    "GET deliveries": () => Response.json({ results: [DELIVERY], next: null }),
    "GET alerts": () => Response.json({ results: [ALERT], next: null }),
    "GET alerts/40": () => Response.json(ALERT),
    "GET dead-letters": () => Response.json({ results: [], total: { count: 25, exact: true } }),
    "GET groups": () => Response.json({ results: [], counts: { unresolved: 2, muted: 1, resolved: 0 } }),
    "POST alerts/preview": () => Response.json(PREVIEW),
  };
});

afterEach(async () => {
  await act(() => root.unmount());
  vi.useRealTimers();
});

function rules(results: AlertRule[]): Response {
  const counts = { firing: results.length, acknowledged: 0, ok: 0, muted: 0 };
  return Response.json({ results, counts, checked_at: "2026-11-28T09:59:50Z" });
}

async function show(address: string, rights: Record<string, unknown> = {}): Promise<void> {
  vi.stubGlobal("fetch", (url: string, { method = "GET", body }: RequestInit) => {
    const given: unknown = typeof body === "string" ? JSON.parse(body) : undefined;
    sent.push({ method, url, body: given });
    const path = url.replace("/api/v1/", "").split("?")[0];
    return Promise.resolve((answers[`${method} ${path}`] ?? (() => Response.json({}, { status: 404 })))(given));
  });
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  client.setQueryData(["session"], { role: "operator", administrator: true, read_only: false, ...rights });
  root = createRoot(document.body.appendChild(document.createElement("div")));
  const routes = (
    <>
      <Link to="/elsewhere">Elsewhere</Link>
      <Routes>
        <Route path="/alerts" element={<Alerts />} />
        <Route path="/alerts/rules/:id" element={<Alerts />} />
        <Route path="/alerts/firings/:id" element={<AlertDetail />} />
        <Route path="/elsewhere" element={<p>You left</p>} />
      </Routes>
    </>
  );
  await act(() => root.render(inApp(client, routes, address)));
  await settle();
}

const text = () => document.body.textContent ?? "";
const named = (name: string) => document.querySelector<HTMLElement>(`[aria-label="${name}"]`)!;
const button = (name: string) =>
  [...document.querySelectorAll<HTMLElement>("button, a")].filter((one) => one.textContent === name).at(-1)!;

async function press(name: string): Promise<void> {
  await act(() => button(name).click());
  await settle();
}

async function choose(name: string, value: string): Promise<void> {
  const select = named(name) as HTMLSelectElement;
  await act(() => {
    select.value = value;
    select.dispatchEvent(new Event("change", { bubbles: true }));
  });
  await settle();
}

const posted = (url: string) => sent.filter((one) => one.url === `/api/v1/${url}` && one.method !== "GET");

it("a rule is listed with its filter, its sentence and its state, beside the messages that were sent", async () => {
  await show("/alerts");
  expect(text()).toContain("1 rule, 1 firing. Rules are checked every 5 s; last check 10 s ago.");
  const row = document.querySelector("[data-testid=alert-rule]")!.textContent;
  expect(row).toContain("topic:shop.*");
  expect(row).toContain("A group is new, or a group has more than 20 records in 1 h");
  expect(row).toContain("Firing");
  expect(document.querySelector("[data-testid=delivery]")!.textContent).toContain("delivered, try 2");
});

it("without rules there are templates", async () => {
  answers["GET alert-rules"] = () => rules([]);
  await show("/alerts");
  expect(text()).toContain("No rule yet");
  expect(button("Use template").getAttribute("href")).toBe("/alerts/rules/new?template=0");
});

it("a mute asks for its end", async () => {
  answers["POST alert-rules/12/mute"] = () => Response.json(RULE);
  await show("/alerts");
  await act(() => named("Mute New errors").click());
  await settle();
  await press("Mute");
  expect(posted("alert-rules/12/mute")[0]!.body).toMatchObject({
    until: expect.stringMatching(/^2026-11-28T18:00:00/),
  });
});

it("a viewer sees a rule, and the role that a change needs", async () => {
  await show("/alerts/rules/12", { role: "viewer" });
  expect(text()).toContain("Needs the role operator to change this rule.");
  expect(button("Save rule").getAttribute("aria-description")).toBe("Needs the role operator");
  expect(named("Mute New errors").getAttribute("aria-disabled")).toBe("true");
  expect(posted("alerts/preview")).toEqual([]);
});

it("an operator of another team cannot change the rule", async () => {
  answers["GET alert-rules/templates"] = () => Response.json({ ...TEMPLATES, everything: false, teams: [] });
  await show("/alerts/rules/12");
  expect(button("Save rule").getAttribute("aria-description")).toBe("Needs the role operator in the rule’s team");
});

it("the editor shows the matches, the firing alert and a preview with the held channels", async () => {
  await show("/alerts/rules/12");
  expect(text()).toContain("Matches 25 dead letters in 3 groups, last 7 d.");
  expect(text()).toContain("JSON: unexpected end");
  expect(text()).toContain("Would have fired 1 time in the last 7 days");
  expect(text()).toContain("on call at 07:00");
  expect(text()).toContain("older firings may be missing");
});

it("a change is previewed after a pause, counted, and saved", async () => {
  answers["PUT alert-rules/12"] = () => rules([{ ...RULE, interval_s: 900 }]);
  await show("/alerts/rules/12");
  const before = posted("alerts/preview").length;
  await choose("Shortest time between two messages", "900");
  expect(text()).toContain("1 change not saved");
  expect(text()).toContain("Changed from 1 h.");
  expect(posted("alerts/preview")).toHaveLength(before);
  await settle(300);
  expect(posted("alerts/preview").at(-1)!.body).toMatchObject({ interval_s: 900 });
  answers["GET alert-rules"] = () => rules([{ ...RULE, interval_s: 900 }]);
  await press("Save rule");
  expect(posted("alert-rules/12")[0]!.body).toMatchObject({ name: "New errors", interval_s: 900, team: 3 });
  expect(text()).not.toContain("not saved");
});

const samples = () =>
  [...document.querySelectorAll("label")].find((one) => one.textContent === "Show up to 3 masked samples")!
    .control as HTMLInputElement;

it("a payload reader chooses masked samples", async () => {
  answers["PUT alert-rules/12"] = () => rules([{ ...RULE, samples: true }]);
  await show("/alerts/rules/12", { payload_reader: true });
  await act(() => samples().click());
  await press("Save rule");
  expect(posted("alert-rules/12")[0]!.body).toMatchObject({ samples: true });
});

it.each([
  [true, false, "Needs the right payload reader"],
  [false, true, "Needs a channel that may show masked samples"],
])("samples are disabled with the reason: channel %s, reader %s", async (channel, reader, reason) => {
  mayHaveSamples = channel;
  await show("/alerts/rules/12", { payload_reader: reader });
  expect(samples().disabled).toBe(true);
  expect(text()).toContain(reason);
});

it("leaving with unsaved changes asks first", async () => {
  await show("/alerts/rules/12");
  await choose("Shortest time between two messages", "900");
  await press("Elsewhere");
  expect(text()).toContain("Leave without saving?");
  await press("Stay");
  expect(text()).not.toContain("You left");
  await press("Elsewhere");
  await press("Leave");
  expect(text()).toContain("You left");
});

it("a new rule begins with its template, and is shown at its address once it is saved", async () => {
  answers["POST alert-rules"] = () => Response.json({ ...RULE, id: 13 }, { status: 201 });
  await show("/alerts/rules/new?template=0");
  expect((named("Name of the rule") as HTMLInputElement).value).toBe("New groups");
  await choose("Shortest time between two messages", "900");
  answers["GET alert-rules"] = () => rules([RULE, { ...RULE, id: 13, name: "Saved rule" }]);
  await press("Save rule");
  expect(posted("alert-rules")[0]!.body).toMatchObject({ name: "New groups", conditions: [{ kind: "new_group" }] });
  expect(text()).not.toContain("Leave without saving?");
  expect((named("Name of the rule") as HTMLInputElement).value).toBe("Saved rule");
});

it("a deleted rule leads back to the list", async () => {
  answers["DELETE alert-rules/12"] = () => new Response(null, { status: 204 });
  await show("/alerts/rules/12");
  await press("Delete rule…");
  await press("Delete rule");
  expect(posted("alert-rules/12")[0]!.method).toBe("DELETE");
  expect(named("Name of the rule")).toBeNull();
});

it("a filter by content is refused with the sentence of the server", async () => {
  const message = "Alerts cannot filter by content";
  answers["POST alerts/preview"] = () =>
    Response.json(
      { title: "Bad request", status: 400, detail: message, errors: [{ parameter: "query", message }] },
      { status: 400 },
    );
  await show("/alerts/rules/12");
  expect([...document.querySelectorAll("[role=alert]")].map((one) => one.textContent)).toContain(`${message}.`);
});

it("the page of an alert tells who was told, and changes nothing until a button is pressed", async () => {
  answers["POST alerts/40/acknowledge"] = () => Response.json({ ...ALERT, state: "acknowledged" });
  await show("/alerts/firings/40");
  expect(text()).toContain("JSON: unexpected end");
  expect(document.querySelector("[data-testid=delivery]")!.textContent).toContain("on call");
  expect(button("Open group").getAttribute("href")).toBe("/groups/7");
  expect(sent.filter(({ method }) => method !== "GET")).toEqual([]);
  await press("Acknowledge");
  expect(posted("alerts/40/acknowledge")).toHaveLength(1);
});
