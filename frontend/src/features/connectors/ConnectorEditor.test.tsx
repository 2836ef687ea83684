import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { Route, Routes } from "react-router";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { inApp, settle } from "../../testing";
import { ConnectorEditor } from "./ConnectorEditor";

const CONFIG = { name: "c", "connector.class": "SqlSink", "tasks.max": "1", "db.password": "********" };
const OPTION = {
  type: "string",
  required: false,
  default: null,
  doc: "",
  importance: "",
  recommended: [] as string[],
  visible: true,
  errors: [] as string[],
};
const OPTIONS = [
  { ...OPTION, name: "tasks.max", type: "int", default: "1", group: "Common", doc: "The maximum number of tasks." },
  { ...OPTION, name: "errors.tolerance", group: "Error handling" },
  { ...OPTION, name: "db.password", type: "password", group: "Connector" },
];

let root: Root;
let sent: { method: string; url: string; body: Record<string, unknown> }[];
let answers: Record<string, () => Response>;

beforeEach(() => {
  sent = [];
  answers = {
    "GET /connectors/c/config?cluster=legacy": () =>
      Response.json({ cluster: "legacy", connector: "c", config: CONFIG, hidden: ["db.password"] }),
    "POST /connector-plugins/SqlSink/validate?cluster=legacy": () =>
      Response.json({ plugin: "SqlSink", error_count: 0, options: OPTIONS }),
    "PUT /connectors/c/config?cluster=legacy": () =>
      Response.json({ cluster: "legacy", connector: "c", config: CONFIG, hidden: [] }),
  };
});

afterEach(async () => {
  await act(() => root.unmount());
});

async function show(rights: Partial<Record<string, unknown>> = {}): Promise<void> {
  vi.stubGlobal("fetch", (url: string, { method = "GET", body }: RequestInit) => {
    sent.push({ method, url, body: typeof body === "string" ? (JSON.parse(body) as Record<string, unknown>) : {} });
    return Promise.resolve(answers[`${method} ${url.replace("/api/v1", "")}`]!());
  });
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  client.setQueryData(["connectors"], { clusters: [], nearest: [], results: [] });
  client.setQueryData(["session"], { role: "operator", read_only: false, payload_reader: true, ...rights });
  root = createRoot(document.body.appendChild(document.createElement("div")));
  await act(() =>
    root.render(
      inApp(
        client,
        <Routes>
          <Route path="/connectors/:cluster/:name/edit" element={<ConnectorEditor />} />
          <Route path="/connectors/:cluster/:name" element={<h1>the connector</h1>} />
        </Routes>,
        "/connectors/legacy/c/edit",
      ),
    ),
  );
  await settle();
}

const text = () => document.body.textContent ?? "";
const button = (name: string) =>
  [...document.querySelectorAll("button")].find((one) => one.textContent?.startsWith(name))!;
const field = (name: string) => document.getElementById(`option-${name}`) as HTMLInputElement;

async function write(input: HTMLInputElement | HTMLTextAreaElement, value: string): Promise<void> {
  const kind = input instanceof HTMLInputElement ? HTMLInputElement : HTMLTextAreaElement;
  await act(() => {
    Object.getOwnPropertyDescriptor(kind.prototype, "value")!.set!.call(input, value);
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await settle(150); // longer than typing
}

async function apply(): Promise<void> {
  await act(() => button("Apply 1 change…").click());
  await write(document.querySelector("[role=dialog] textarea")!, "why");
  await act(() => [...document.querySelectorAll<HTMLElement>("[role=dialog] button")].at(-1)!.click());
  await settle();
}

it("a change is sent with the configuration that was opened, and its masks as they were", async () => {
  await show();
  await write(field("tasks.max"), "2");
  expect(text()).toContain("all options are valid");
  expect(document.querySelector("[data-testid=config-difference]")?.textContent).toContain("tasks.max=1");
  await apply();
  expect(sent.find((one) => one.method === "PUT")?.body).toEqual({
    config: { ...CONFIG, "tasks.max": "2" },
    opened: CONFIG,
    reason: "why",
  });
  expect(text()).toContain("the connector");
});

it("an error is shown at its option, and nothing can be applied", async () => {
  await show();
  answers["POST /connector-plugins/SqlSink/validate?cluster=legacy"] = () =>
    Response.json({
      plugin: "SqlSink",
      error_count: 1,
      options: OPTIONS.map((one) => (one.name === "tasks.max" ? { ...one, errors: ["must be a whole number"] } : one)),
    });
  await write(field("tasks.max"), "two");
  const described = document.getElementById(field("tasks.max").getAttribute("aria-describedby")?.trim() ?? "");
  expect(described?.textContent).toBe("must be a whole number");
  expect(field("tasks.max").getAttribute("aria-invalid")).toBe("true");
  expect(button("Apply 1 change…").getAttribute("aria-description")).toBe("1 option is not valid");
});

it("a change of somebody else is shown, and one's own change continues from it", async () => {
  await show();
  await write(field("tasks.max"), "2");
  answers["PUT /connectors/c/config?cluster=legacy"] = () =>
    Response.json(
      {
        title: "Conflict",
        status: 409,
        code: "configuration_changed",
        detail: "",
        errors: [{ parameter: "errors.tolerance", message: "was not set when it was opened, and is all now" }],
      },
      { status: 409 },
    );
  await apply();
  expect(document.querySelector("[role=alert]")?.textContent).toContain("errors.tolerance was not set");
  answers["GET /connectors/c/config?cluster=legacy"] = () =>
    Response.json({
      cluster: "legacy",
      connector: "c",
      config: { ...CONFIG, "errors.tolerance": "all" },
      hidden: ["db.password"],
    });
  await act(() => button("Continue from the new").click());
  await settle();
  expect(document.querySelector("[role=alert]")).toBeNull();
  const difference = document.querySelector("[data-testid=config-difference]")?.textContent;
  expect(difference).toContain("tasks.max=2");
  expect(difference).not.toContain("errors.tolerance");
});

it("who may not read content cannot apply", async () => {
  await show({ payload_reader: false });
  await write(field("tasks.max"), "2");
  expect(button("Apply 1 change…").getAttribute("aria-description")).toBe("Needs the right payload reader");
});

it("a new secret is not shown in the difference", async () => {
  await show();
  await write(field("db.password"), "hush");
  expect(field("db.password").type).toBe("password");
  const difference = document.querySelector("[data-testid=config-difference]")?.textContent;
  expect(difference).toContain("db.password=(a new value, not shown)");
  expect(difference).not.toContain("hush");
});

it("an option shows its importance and its recommended values, and one without effect only if it is set", async () => {
  answers["POST /connector-plugins/SqlSink/validate?cluster=legacy"] = () =>
    Response.json({
      plugin: "SqlSink",
      error_count: 0,
      options: [
        { ...OPTIONS[0]!, importance: "high", recommended: ["1", "2"] },
        { ...OPTION, name: "quiet", group: "Connector", required: true, visible: false },
      ],
    });
  await show();
  expect(text()).toContain("int, high importance, default 1, recommended 1 or 2");
  const values = document.getElementById(field("tasks.max").getAttribute("list")!);
  expect([...values!.children].map((one) => one.getAttribute("value"))).toEqual(["1", "2"]);
  expect(field("quiet")).toBeNull();
});

it("a new connector stays with the cluster that was offered first, also when it is away for a moment", async () => {
  const clusters = (isAway: boolean) => ({
    clusters: [
      { name: "engine", reachable: !isAway },
      { name: "legacy", reachable: true },
    ],
    nearest: [],
    results: [],
  });
  vi.stubGlobal("fetch", () => Promise.resolve(Response.json({ results: [] })));
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: Infinity } } });
  client.setQueryData(["connectors"], clusters(false));
  client.setQueryData(["session"], { role: "operator", read_only: false, payload_reader: true });
  root = createRoot(document.body.appendChild(document.createElement("div")));
  await act(() => root.render(inApp(client, <ConnectorEditor />)));
  await settle();
  const chosen = () => document.querySelector("select")!.value;
  expect(chosen()).toBe("engine");
  await act(() => client.setQueryData(["connectors"], clusters(true)));
  await settle();
  expect(chosen()).toBe("engine");
});
