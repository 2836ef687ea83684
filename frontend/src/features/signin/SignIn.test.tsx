import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { settle } from "../../testing";
import { SignIn } from "./SignIn";

let root: Root;
let attempts: number;

beforeEach(async () => {
  attempts = 0;
  vi.stubGlobal("fetch", (_: string, options: RequestInit) => {
    if (options.method !== "POST")
      return Promise.resolve(Response.json({ authenticated: false, cluster: "local", environment: "LOCAL" }));
    attempts += 1;
    const problem = {
      title: "Too Many Requests",
      status: 429,
      detail: "Too many attempts to sign in. Try again in 2 minutes.",
    };
    return Promise.resolve(Response.json(problem, { status: 429, headers: { "Retry-After": "95" } }));
  });
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  root = createRoot(document.body.appendChild(document.createElement("div")));
  await act(() =>
    root.render(
      <MantineProvider env="test">
        <QueryClientProvider client={client}>
          <SignIn />
        </QueryClientProvider>
      </MantineProvider>,
    ),
  );
});

afterEach(async () => {
  await act(() => root.unmount());
});

async function submit(): Promise<void> {
  await act(() => document.querySelector("form")!.requestSubmit());
  await settle();
}

it("after too many attempts the form shows the waiting time and sends no request until it has passed", async () => {
  await submit();
  expect(document.body.textContent).toContain("Too many attempts to sign in.");
  expect(document.body.textContent).toMatch(/You can try again in 1:3[3-5] min/);
  await submit();
  expect(attempts).toBe(1);
});
