import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { Route, Routes, useLocation } from "react-router";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Tracker } from "../../api/ownership";
import type { Fingerprint, GroupDetail } from "../../api/types";
import { enter, inApp, settle, until } from "../../testing";
import { Groups } from "./Groups";

type ResponseBody = object | "broken" | "never";

const CHOSEN_TIME = "range=24h&from=2026-11-21T12:00:00.000Z&to=2026-11-21T13:00:00.000Z";
const DONE = {
  id: 5,
  kind: "split",
  at: "2026-11-21T03:04:12Z",
  actor: "eve",
  reason: "",
  fingerprints: 1,
  sources: [{ id: 1, title: "one" }],
  targets: [{ id: 3, title: "three" }],
  undone: false,
};

let root: Root;
let requests: { path: string; body: unknown }[];
let respond: (path: string) => ResponseBody;
let split: boolean;
let work: GroupDetail["work"];
let detail: Partial<GroupDetail>;
let trackers: Tracker[];
let lists: string[];

function group(id: number, prints: number): GroupDetail {
  const fingerprints = Array.from(
    { length: prints },
    (_, index) =>
      ({
        id: 10 * id + index,
        digest: "d",
        exception_class: "e.X",
        stage: "TASK_PUT",
        message: `m${index}`,
        holes: [],
        frame: "",
        name: "",
        origin: "",
        events: 1,
      }) as Fingerprint,
  );
  return {
    id,
    title: `group ${id}`,
    exception_class: "e.X",
    stage: "TASK_PUT",
    message: `message ${id}`,
    origin: "",
    fingerprint_count: prints,
    state: "new",
    mute: null,
    events: 2,
    events_24h: 0,
    now: 0,
    now_exact: true,
    keys: 1,
    keys_exact: true,
    first_seen: "2026-11-21T03:04:12Z",
    last_seen: "2026-11-21T03:04:12Z",
    owner: null,
    team: null,
    issues: [],
    connectors: [],
    topics: [],
    sparkline: { from: "2026-11-21T03:00:00Z", bucket_ms: 3_600_000, points: [2] },
    work,
    all_closed: work.open + work.replaying === 0 && work.passed > 0,
    fingerprints,
    regroupings: [],
    activity: [],
    ...detail,
  };
}

function defaultResponse(path: string): ResponseBody {
  if (path.endsWith("/split")) return ((split = true), DONE);
  if (path.endsWith("/common")) return { traits: [], here: 1, elsewhere: 1, partial: false };
  if (path.endsWith("/retention")) return "broken";
  if (path.endsWith("/assignees")) return { teams: ["quakes"], people: ["ada", "eve"] };
  if (path.endsWith("/issue-trackers")) return { results: trackers };
  if (path.endsWith("/issues/create")) return "broken";
  const id = /groups\/(\d+)$/.exec(path)?.[1];
  if (id) return group(Number(id), split ? 1 : 2);
  return {
    results: [group(1, 2), group(2, 1)],
    next: null,
    counts: { unresolved: 2 },
    total_records: 4,
    took_ms: 1,
    exact: true,
    of: null,
    partial: false,
  };
}

beforeEach(() => {
  [requests, respond, split] = [[], defaultResponse, false];
  [detail, trackers, lists] = [{}, [], []];
  work = { open: 2, replaying: 0, passed: 0, set_aside: 0 };
  vi.stubGlobal(
    "fetch",
    vi.fn((url: string, options: RequestInit) => {
      const { pathname: path, searchParams } = new URL(url, "http://here");
      if (path.endsWith("/groups")) lists.push(searchParams.get("owner") ?? "");
      if (options.method !== "GET") requests.push({ path, body: JSON.parse((options.body as string) ?? "null") });
      const body = respond(path);
      if (body === "never") return new Promise(() => undefined);
      return Promise.resolve(
        new Response(JSON.stringify(body === "broken" ? { detail: "It broke." } : body), {
          status: body === "broken" ? 500 : 200,
        }),
      );
    }),
  );
});

afterEach(async () => {
  await act(() => root.unmount());
});

function Address() {
  const { pathname, search } = useLocation();
  return <output>{pathname + search}</output>;
}

async function show(address: string): Promise<QueryClient> {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  client.setQueryData(["session"], { username: "eve", role: "operator", read_only: false });
  root = createRoot(document.body.appendChild(document.createElement("div")));
  const routes = (
    <Routes>
      {["/groups", "/groups/:id"].map((path) => (
        <Route key={path} path={path} element={<Groups />} />
      ))}
      <Route path="*" element={null} />
    </Routes>
  );
  await act(() =>
    root.render(
      inApp(
        client,
        <>
          {routes}
          <Address />
        </>,
        address,
      ),
    ),
  );
  await until(() => document.querySelector("[data-testid=group]") && panel());
  return client;
}

const panel = () => document.querySelector("[aria-label='Chosen group']");
const address = () => document.querySelector("output")!.textContent;

async function press(key: string): Promise<void> {
  await act(() => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })));
  await settle();
}

async function click(name: string, within: ParentNode = document): Promise<void> {
  const found = [...within.querySelectorAll("button")].find((one) => one.textContent?.startsWith(name));
  if (!found) throw new Error(`no button ${name}`);
  await act(() => found.click());
  await settle();
}

it("while the next group loads, shortcuts do not act on the previous group", async () => {
  respond = (path) => (path.endsWith("/groups/2") ? "never" : defaultResponse(path));
  await show("/groups/1");
  expect(panel()?.textContent).toContain("message 1");
  await press("j");
  for (const key of ["a", "m", "r"]) await press(key);
  expect(address()).toBe("/groups/2");
  expect(panel()).toBeNull();
  expect([requests, document.querySelector("[role=dialog]")]).toEqual([[], null]);
});

it("shortcuts act on the chosen group", async () => {
  await show("/groups/1");
  await press("j");
  await until(() => panel()?.textContent?.includes("message 2"));
  await press("a");
  await until(() => requests.length);
  expect(requests).toEqual([{ path: "/api/v1/groups/assign", body: { groups: [2], username: "eve" } }]);
});

it("the group stays on the screen while another time range loads", async () => {
  await show("/groups/1?range=24h");
  respond = (path) => (path.endsWith("/groups/1") ? "never" : defaultResponse(path));
  await act(() => document.querySelector<HTMLInputElement>("input[value='30d']")!.click());
  await settle();
  expect(address()).toContain("range=30d");
  expect(panel()?.textContent).toContain("message 1");
});

it("a failed refresh shows the error above the old groups", async () => {
  const client = await show("/groups");
  respond = () => "broken";
  await act(() => client.refetchQueries({ queryKey: ["groups"] }));
  await until(() => document.body.textContent?.includes("It broke."));
  expect(document.querySelectorAll("[data-testid=group]")).toHaveLength(2);
});

it("a split opens the new group and can be undone", async () => {
  await show("/groups/1");
  await act(() => document.querySelector<HTMLInputElement>("[data-testid=fingerprint] input")!.click());
  await click("Split off 1");
  await enter(document.querySelector<HTMLTextAreaElement>("[role=dialog] textarea")!, "Two causes.");
  await click("Split off", document.querySelector("[role=dialog]")!);
  await until(() => address() === "/groups/3");
  expect(document.querySelector("[data-testid=regrouped]")?.textContent).toContain("Split three off one.");
});

it("a dragged time range applies to the records and can be widened", async () => {
  await show(`/groups/1?${CHOSEN_TIME}`);
  const records = [...document.querySelectorAll("a")]
    .find((one) => one.textContent?.startsWith("Open"))
    ?.getAttribute("href");
  expect(Object.fromEntries(new URL(records ?? "", "http://here").searchParams)).toEqual({
    group: "1",
    from: "2026-11-21T12:00:00.000Z",
    to: "2026-11-21T13:00:00.000Z",
  });
  expect(document.querySelectorAll("input[type=radio]:checked")).toHaveLength(0);
  await click("Back to the last 24 h");
  expect(address()).toBe("/groups/1?range=24h");
});

it("a group with open records offers to replay them, and can't be resolved", async () => {
  work = { open: 2, replaying: 1, passed: 4, set_aside: 0 };
  await show("/groups/1");
  const buttons = [...panel()!.querySelectorAll("button")];
  expect(buttons.some((one) => one.textContent === "Replay 2 open…")).toBe(true);
  const resolve = buttons.find((one) => one.textContent === "Resolve…");
  expect(resolve?.getAttribute("aria-description")).toBe("2 records are open. Replay or set aside first");
  expect(panel()?.textContent).toContain("2 open1 replaying4 passed0 set asideof 7 since the start");
  expect(panel()?.textContent).not.toContain("All passed");
});

it("the replay of a group freezes its records of all times; the plan leaves out those that are not open", async () => {
  await show("/groups/1");
  await click("Replay 2 open…");
  await until(() => requests.length);
  const { filter } = requests[0]!.body as { filter: string };
  expect(Object.fromEntries(new URLSearchParams(filter))).toEqual({
    group: "1",
    from: "now-2000w",
    to: "now",
  });
});

it("a group whose records all passed offers to be resolved", async () => {
  work = { open: 0, replaying: 0, passed: 2, set_aside: 0 };
  await show("/groups/1");
  expect(panel()?.textContent).toContain("✓ All passed");
  expect([...panel()!.querySelectorAll("button")].some((one) => one.textContent?.startsWith("Replay"))).toBe(false);
  await click("Resolve…");
  expect(document.querySelector("[role=dialog]")?.textContent).toContain("Resolve this group");
});

async function fill(field: HTMLInputElement, value: string): Promise<void> {
  await act(() => {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")!.set!.call(field, value);
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

async function pressIn(field: Element, ...keys: string[]): Promise<void> {
  for (const key of keys)
    await act(() => field.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true })));
  await settle();
}

const dialog = () => document.querySelector("[role=dialog]");
const options = () => [...document.querySelectorAll("[role=option]")].map((one) => one.textContent);
const link = (text: string) => [...panel()!.querySelectorAll("a")].find((one) => one.textContent?.startsWith(text));

it("a group is assigned to a team or a person by the keyboard; nobody comes first", async () => {
  await show("/groups/1");
  await click("Assign…");
  await until(() => options().length > 1);
  expect(options()).toEqual(["Nobody", "Team quakes", "ada", "eve"]);
  const search = dialog()!.querySelector<HTMLInputElement>("[role=combobox]")!;
  await pressIn(search, "ArrowDown", "ArrowDown", "ArrowUp", "Enter");
  await until(() => requests.length);
  expect(requests[0]).toEqual({
    path: "/api/v1/groups/assign",
    body: { groups: [1], username: null, team: "quakes" },
  });
  await click("Assign…");
  const again = dialog()!.querySelector<HTMLInputElement>("[role=combobox]")!;
  await fill(again, "AD");
  expect(options()).toEqual(["ada"]);
  await pressIn(again, "Enter");
  await until(() => requests.length > 1);
  expect(requests[1]!.body).toEqual({ groups: [1], username: "ada", team: null });
});

it("the owner filter is kept in the address and sent with each list", async () => {
  detail = { team: "quakes" };
  await show("/groups/1?status=new");
  expect(document.querySelector("[data-testid=group]")?.textContent).toContain("Team quakes");
  const filter = document.querySelector<HTMLSelectElement>("select[aria-label=Owner]")!;
  expect([...filter.options].map((one) => one.value)).toEqual(["", "me", "none", "team:quakes"]);
  lists = [];
  await act(() => {
    filter.value = "team:quakes";
    filter.dispatchEvent(new Event("change", { bubbles: true }));
  });
  await settle();
  expect(address()).toContain("owner=team%3Aquakes");
  expect(new Set(lists)).toEqual(new Set(["team:quakes"]));
});

const JIRA: Tracker = {
  id: 3,
  name: "Jira",
  template: "https://issues.example.org/new?title={title}&body={link}",
  channel: 5,
  channel_name: "jira hook",
};

it("a tracker's form opens filled in a new tab, and the address is asked for", async () => {
  trackers = [JIRA];
  await show("/groups/1");
  await until(() => link("New issue in Jira"));
  const form = link("New issue in Jira")!;
  expect([form.target, form.rel]).toEqual(["_blank", "noopener noreferrer"]);
  expect(new URL(form.href).searchParams.get("title")).toBe("group 1");
  expect(new URL(form.href).searchParams.get("body")).toBe(`${location.origin}/groups/1`);
  form.addEventListener("click", (event) => event.preventDefault());
  await act(() => form.click());
  await settle();
  const [url] = [...dialog()!.querySelectorAll("input")];
  await fill(url!, "javascript:alert(1)");
  await click("Link", dialog()!);
  expect(requests).toEqual([]);
  await fill(url!, "https://issues.example.org/browse/OPS-31");
  await click("Link", dialog()!);
  await until(() => requests.length);
  expect(requests[0]).toEqual({
    path: "/api/v1/groups/1/issues",
    body: { name: "OPS-31", url: "https://issues.example.org/browse/OPS-31" },
  });
});

it("linked issues are links to pages only, and can be removed", async () => {
  const at = "2026-11-21T03:04:12Z";
  detail = {
    issues: [
      { id: 4, name: "OPS-31", url: "https://issues.example.org/OPS-31", actor: "eve", at },
      { id: 5, name: "bad", url: "javascript:alert(1)", actor: "eve", at },
    ],
  };
  await show("/groups/1");
  expect(link("OPS-31")?.href).toBe("https://issues.example.org/OPS-31");
  expect(link("bad")).toBeUndefined();
  await click("Remove the link to OPS-31");
  await until(() => requests.length);
  expect(requests[0]!.path).toBe("/api/v1/groups/1/issues/4");
});

it("a tracker with a webhook creates the issue, and a failure is shown", async () => {
  trackers = [JIRA];
  await show("/groups/1");
  await until(() => link("New issue in Jira"));
  await click("Create in Jira");
  await until(() => panel()?.textContent?.includes("It broke."));
  expect(requests[0]).toEqual({ path: "/api/v1/groups/1/issues/create", body: { tracker: 3 } });
});

it("a note suggests people after @, and mentions are bold text", async () => {
  detail = {
    activity: [{ at: "2026-11-21T03:04:12Z", actor: "ada", kind: "note", text: "@eve: <i>look</i>" }],
  };
  await show("/groups/1");
  expect([...panel()!.querySelectorAll("b")].some((one) => one.textContent === "@eve")).toBe(true);
  expect(panel()!.querySelector("i")?.textContent).not.toBe("look");
  const field = panel()!.querySelector<HTMLTextAreaElement>("textarea")!;
  await enter(field, "please @a");
  await until(() => options().length);
  expect(options()).toEqual(["ada"]);
  await pressIn(field, "Enter");
  expect(field.value).toBe("please @ada ");
  expect(options()).toEqual([]);
});
