import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Registry } from "../../api/decoded";
import { inApp, settle } from "../../testing";
import { Registries } from "./Registries";

const SHOP: Registry = {
  cluster: "local",
  name: "shop",
  url: "https://registry.example:8081",
  ca_file: "",
  auth: "basic",
  user: "dlqadmin",
  secret: "shop-password",
  token_url: "",
  scope: "",
  is_fixed: false,
  trouble: "",
  by: "ann",
  at: "2026-11-27T10:00:00Z",
};

const NOW = "2026-11-28T10:00:00Z";

let root: Root;
let sent: { method: string; url: string; body: unknown }[];
let answers: Record<string, () => Response | Promise<Response>>;

beforeEach(() => {
  sent = [];
  answers = { "GET /registries": () => listing([SHOP]) };
});

afterEach(async () => {
  await act(() => root.unmount());
});

function listing(results: Registry[]): Response {
  return Response.json({ results, clusters: ["local", "dr"], secrets: ["shop-password", "other"] });
}

async function show(rights: Record<string, unknown> = {}): Promise<void> {
  vi.stubGlobal("fetch", (url: string, { method = "GET", body }: RequestInit) => {
    sent.push({ method, url, body: typeof body === "string" ? JSON.parse(body) : undefined });
    return Promise.resolve(answers[`${method} ${url.replace("/api/v1", "")}`]!());
  });
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  client.setQueryData(["session"], { role: "operator", administrator: true, read_only: false, ...rights });
  root = createRoot(document.body.appendChild(document.createElement("div")));
  await act(() => root.render(inApp(client, <Registries />)));
  await settle();
}

const panel = (cluster: string) => document.querySelector(`section[aria-label=${cluster}]`)!;
const button = (name: string, within: ParentNode = document) =>
  [...within.querySelectorAll<HTMLElement>("button")].find((one) => one.textContent === name)!;

async function press(name: string, within?: ParentNode): Promise<void> {
  await act(() => button(name, within).click());
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

it("each cluster shows its registry, or says that it has none", async () => {
  await show();
  expect(panel("local").textContent).toContain("https://registry.example:8081");
  expect(panel("local").textContent).toContain("user and password as dlqadmin, secret shop-password");
  expect(panel("local").textContent).toContain("by ann");
  expect(panel("dr").textContent).toContain("No registry");
});

it("the page shows a placeholder while it loads", async () => {
  answers["GET /registries"] = () => new Promise<Response>(() => undefined);
  await show();
  expect(document.querySelector("[aria-busy=true]")).not.toBeNull();
});

it("registries that did not come are told, and asked for again", async () => {
  answers["GET /registries"] = () => Response.json({ detail: "It broke." }, { status: 500 });
  await show();
  expect(document.body.textContent).toContain("The registries could not be loaded");
  expect(document.body.textContent).toContain("It broke.");
  answers["GET /registries"] = () => listing([SHOP]);
  await press("Try again");
  expect(panel("local").textContent).toContain("shop");
});

it("a registry that is away is told in its sentence", async () => {
  const verdict = "The registry can't be reached: [Errno 111] Connection refused.";
  answers["POST /registries/local/test"] = () => Response.json({ reached: false, verdict, subjects: 0, took_ms: 3 });
  await show();
  await press("Test connection", panel("local"));
  expect(panel("local").querySelector("[role=status]")?.textContent).toContain(`✕${verdict}`);
});

it("settings that can't be used say why", async () => {
  answers["GET /registries"] = () => listing([{ ...SHOP, trouble: "the file of secret 'shop' does not exist" }]);
  await show();
  expect(panel("local").textContent).toContain("Not used: the file of secret 'shop' does not exist.");
});

it("a registry is added with the values of the form, and a refusal stays on the form", async () => {
  await show();
  await press("Add registry…", panel("dr"));
  expect(button("Save").getAttribute("aria-disabled")).toBe("true");
  await fill("Name", "dr-registry");
  await fill("URL", "ftp://registry");
  answers["PUT /registries/dr"] = () =>
    Response.json({ detail: "url: 'ftp://registry' is not an address." }, { status: 400 });
  await press("Save");
  expect(document.querySelector("[role=dialog] [role=alert]")?.textContent).toBe(
    "url: 'ftp://registry' is not an address.",
  );
  expect(sent.at(-1)).toEqual({
    method: "PUT",
    url: "/api/v1/registries/dr",
    body: {
      ...{ name: "dr-registry", url: "ftp://registry", ca_file: "", auth: "none", user: "", secret: "", token_url: "" },
      scope: "",
    },
  });
});

it("a registry is removed only after a yes", async () => {
  answers["DELETE /registries/local"] = () => new Response(null, { status: 204 });
  await show();
  await press("Remove…", panel("local"));
  expect(sent.filter((one) => one.method === "DELETE")).toEqual([]);
  expect(document.querySelector("[role=dialog]")?.textContent).toContain(
    "Values that are decoded already stay searchable.",
  );
  answers["GET /registries"] = () => listing([]);
  await press("Remove", document.querySelector("[role=dialog]")!);
  expect(panel("local").textContent).toContain("No registry");
});

it("a registry of the environment is not changed here", async () => {
  answers["GET /registries"] = () => listing([{ ...SHOP, is_fixed: true, by: null, at: null }]);
  await show();
  expect(panel("local").textContent).toContain("set by the environment");
  expect(button("Change…", panel("local")).getAttribute("aria-disabled")).toBe("true");
});

it("a verdict is of the settings that were tested, and a user is of an authentication that has one", async () => {
  answers["POST /registries/local/test"] = () =>
    Response.json({ reached: true, verdict: "The registry answered.", took_ms: 3 });
  await show();
  await press("Test connection", panel("local"));
  expect(panel("local").textContent).toContain("The registry answered.");
  answers["GET /registries"] = () => listing([{ ...SHOP, auth: "none", url: "https://other.example", at: NOW }]);
  answers["PUT /registries/local"] = () => Response.json({});
  await press("Change…", panel("local"));
  await fill("URL", "https://other.example");
  await press("Save");
  expect(panel("local").textContent).toContain("https://other.example");
  expect(panel("local").textContent).not.toContain("The registry answered.");
  expect(panel("local").textContent).not.toContain("as dlqadmin");
});
