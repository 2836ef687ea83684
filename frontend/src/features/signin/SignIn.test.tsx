import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { inApp, settle } from "../../testing";
import { SignIn } from "./SignIn";

const NO_PROVIDERS = { providers: [], local: true, refusal: null };
const CORPORATE = { name: "corp", title: "Corporate", path: "/sign-in/corp" };
const WAIT = {
  title: "Too Many Requests",
  status: 429,
  detail: "Too many attempts to sign in. Try again in 2 minutes.",
};
const NEEDS_CODE = { title: "Unauthorized", status: 401, detail: "This account needs a code.", code: "code_required" };

let root: Root;
let attempts: unknown[];
let refuse: () => Response;
let options: object;

beforeEach(() => {
  attempts = [];
  options = NO_PROVIDERS;
  refuse = () => Response.json(WAIT, { status: 429, headers: { "Retry-After": "95" } });
  vi.stubGlobal("fetch", (url: string, init: RequestInit) => {
    if (init.method === "POST") {
      attempts.push(JSON.parse(init.body as string));
      return Promise.resolve(refuse());
    }
    if (url.endsWith("sign-in-options")) return Promise.resolve(Response.json(options));
    return Promise.resolve(Response.json({ authenticated: false, cluster: "local", environment: "LOCAL" }));
  });
});

afterEach(async () => {
  await act(() => root.unmount());
});

async function show(address = "/"): Promise<void> {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  root = createRoot(document.body.appendChild(document.createElement("div")));
  await act(() => root.render(inApp(client, <SignIn />, address)));
  await settle();
}

async function submit(): Promise<void> {
  await act(() => document.querySelector("form")!.requestSubmit());
  await settle();
}

const field = (name: string) => document.querySelector<HTMLInputElement>(`input[name=${name}]`);

async function type(name: string, value: string): Promise<void> {
  await act(() => {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set?.call(field(name), value);
    field(name)?.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

it("after too many attempts the form shows the waiting time and sends no request until it has passed", async () => {
  await show();
  await submit();
  expect(document.body.textContent).toContain("Too many attempts to sign in.");
  expect(document.body.textContent).toMatch(/You can try again in 1:3[3-5] min/);
  await submit();
  expect(attempts).toHaveLength(1);
});

it("without a provider the form has no provider buttons and asks for no code", async () => {
  await show();
  expect(document.querySelector("a")).toBeNull();
  expect(document.body.textContent).not.toContain("or with a password");
  expect(field("code")).toBeNull();
});

it("a provider's button returns to the present address", async () => {
  options = { ...NO_PROVIDERS, providers: [CORPORATE] };
  await show("/groups?state=open");
  const link = document.querySelector("a")!;
  expect(link.textContent).toBe("Sign in with Corporate");
  expect(link.getAttribute("href")).toBe("/sign-in/corp?next=%2Fgroups%3Fstate%3Dopen");
  expect(document.body.textContent).toContain("or with a password");
});

it("the form says that only administrators use a password, and why a provider's sign-in was refused", async () => {
  options = { providers: [CORPORATE], local: false, refusal: "Corporate: Your account is deactivated." };
  await show();
  expect(document.body.textContent).toContain("or as an administrator, with a password");
  expect(document.querySelector("[role=alert]")?.textContent).toBe("Corporate: Your account is deactivated.");
});

it("an account with two-factor sign-in is asked for a code in a second step", async () => {
  refuse = () => Response.json(NEEDS_CODE, { status: 401 });
  await show();
  await type("username", "ada");
  await type("password", "secret");
  await submit();
  expect(field("code")).not.toBeNull();
  await type("code", " 123456 ");
  await submit();
  expect(attempts).toEqual([
    { username: "ada", password: "secret" },
    { username: "ada", password: "secret", code: "123456" },
  ]);
});
