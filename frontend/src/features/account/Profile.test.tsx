import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { inApp, settle } from "../../testing";
import { Profile } from "./Profile";

const ACTIVE = {
  id: 1,
  name: "prometheus",
  owner: "ada",
  team: "stations",
  scopes: ["viewer"],
  created_at: "2026-11-21T00:00:00Z",
  expires_at: "2027-02-19T00:00:00Z",
  last_used_at: null,
  state: "active",
};
const EXPIRED = { ...ACTIVE, id: 2, name: "nightly", state: "expired" };
const SECRET = "dlq_shown-once";

let requests: { method: string; url: string; body: unknown }[];
let responses: Record<string, () => Response>;
let root: Root;
let isTwoFactorOn: boolean;

beforeEach(() => {
  requests = [];
  responses = {};
  isTwoFactorOn = false;
  vi.stubGlobal("fetch", (url: string, init: RequestInit) => {
    const method = init.method ?? "GET";
    if (method !== "GET") requests.push({ method, url, body: init.body ? JSON.parse(init.body as string) : null });
    if (method === "GET" && url.endsWith("two-factor"))
      return Promise.resolve(Response.json({ enabled: isTwoFactorOn, recovery_codes_left: 7 }));
    return Promise.resolve(
      responses[`${method} ${url}`]?.() ??
        Response.json({ results: [ACTIVE, EXPIRED], default_days: 90, max_days: 365 }),
    );
  });
});

afterEach(async () => {
  await act(() => root.unmount());
});

async function show(rights = ["viewer", "operator"], hasPassword = true): Promise<void> {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(["session"], {
    authenticated: true,
    username: "ada",
    role: rights.at(-1) ?? null,
    rights,
    environment: "LOCAL",
    cluster: "local",
    read_only: false,
    has_password: hasPassword,
  });
  root = createRoot(document.body.appendChild(document.createElement("div")));
  await act(() => root.render(inApp(client, <Profile />)));
  await settle();
}

const button = (name: string) =>
  [...document.querySelectorAll("button")].find((one) => one.textContent.startsWith(name));
const input = (label: string) => {
  const found = [...document.querySelectorAll("label")].find((one) => one.textContent.startsWith(label));
  return document.getElementById(found?.htmlFor ?? "") as HTMLInputElement;
};

async function press(name: string): Promise<void> {
  await act(() => button(name)?.click());
  await settle();
}

/** Press the button of a dialog whose name begins that of the button which opened it. */
async function pressExactly(name: string): Promise<void> {
  await act(() => [...document.querySelectorAll("button")].find((one) => one.textContent === name)?.click());
  await settle();
}

async function type(label: string, value: string): Promise<void> {
  const field = input(label);
  await act(() => {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set?.call(field, value);
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

it("the profile lists the user's rights and tokens", async () => {
  await show();
  const words = document.body.textContent;
  expect(words).toContain("ada");
  expect(words).toContain("operator Fix, replay, set aside and export");
  expect(words).not.toContain("Approve replays");
  expect(
    [...document.querySelectorAll("[data-testid=token]")].map((row) => row.textContent.includes("Revoke")),
  ).toEqual([true, false]);
});

it("the dialog shows a new token's secret once", async () => {
  responses["POST /api/v1/tokens"] = () =>
    Response.json({ ...ACTIVE, id: 3, name: "cli", secret: SECRET }, { status: 201 });
  await show();
  await press("Create a token…");
  expect(button("Create the token")?.getAttribute("aria-description")).toBe("Name the token first");
  await type("Name", " cli ");
  await press("Create the token");
  expect(requests).toEqual([
    { method: "POST", url: "/api/v1/tokens", body: { name: "cli", scopes: ["viewer"], days: 90, team: null } },
  ]);
  expect(document.querySelector("code[aria-label='API token']")?.textContent).toBe(SECRET);
  await press("Done");
  expect(document.body.textContent).not.toContain(SECRET);
});

it("a token is revoked after a confirmation", async () => {
  responses["DELETE /api/v1/tokens/1"] = () => Response.json({ ...ACTIVE, state: "revoked" });
  await show();
  await press("Revoke");
  expect(requests).toEqual([]);
  expect(document.body.textContent).toContain("Revoke prometheus?");
  await press("Revoke the token");
  expect(requests).toEqual([{ method: "DELETE", url: "/api/v1/tokens/1", body: null }]);
});

it("a user without rights cannot create a token", async () => {
  await show([]);
  expect(button("Create a token…")?.getAttribute("aria-description")).toBe("Needs the role viewer");
  expect(document.body.textContent).toContain("None. An administrator, or an admin of a team, gives you roles");
});

it("the password form needs the same password twice and shows the server's error", async () => {
  responses["POST /api/v1/account/password"] = () =>
    Response.json({ title: "Bad Request", status: 400, detail: "new: This password is too common." }, { status: 400 });
  await show();
  await type("Current password", "old");
  await type("New password", "1qaz2wsx3edc");
  await type("New password, again", "1qaz2wsx3edx");
  expect(button("Change password")?.getAttribute("aria-description")).toBe("The two new passwords differ");
  await type("New password, again", "1qaz2wsx3edc");
  await press("Change password");
  expect(requests[0]?.body).toEqual({ current: "old", new: "1qaz2wsx3edc" });
  expect(document.querySelector("[role=alert]")?.textContent).toBe("This password is too common.");
});

it("two-factor sign-in is switched on with the password and a code, and shows the recovery codes once", async () => {
  responses["POST /api/v1/account/two-factor"] = () =>
    Response.json({ secret: "JBSWY3DP", address: "otpauth://totp/x", qr: "data:image/svg+xml,x" });
  responses["POST /api/v1/account/two-factor/confirm"] = () => Response.json({ recovery_codes: ["aaaa-bbbb"] });
  await show();
  await press("Switch on…");
  await type("Password", "secret");
  await press("Continue");
  expect(document.querySelector("img")?.getAttribute("src")).toBe("data:image/svg+xml,x");
  expect(document.body.textContent).toContain("JBSWY3DP");
  await type("Code", "123456");
  await pressExactly("Switch on");
  expect(requests.map(({ body }) => body)).toEqual([{ password: "secret" }, { code: "123456" }]);
  expect(document.body.textContent).toContain("aaaa-bbbb");
  await press("Done");
  expect(document.body.textContent).not.toContain("aaaa-bbbb");
});

it("two-factor sign-in is switched off with the password and a code", async () => {
  isTwoFactorOn = true;
  responses["POST /api/v1/account/two-factor/off"] = () => Response.json({ enabled: false, recovery_codes_left: 0 });
  await show();
  expect(document.body.textContent).toContain("7 recovery codes left");
  await press("Switch off…");
  await type("Password", "secret");
  await type("Code", "aaaa-bbbb");
  await pressExactly("Switch off");
  expect(requests.map(({ body }) => body)).toEqual([{ password: "secret", code: "aaaa-bbbb" }]);
});

it("an account without a password shows neither the password form nor two-factor sign-in", async () => {
  await show(["viewer"], false);
  expect(input("Current password")).toBeNull();
  expect(document.body.textContent).not.toContain("Two-factor");
});
