import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot } from "react-dom/client";
import { expect, it, vi } from "vitest";
import { inApp, settle } from "../../testing";
import { Exports } from "./Exports";

const ONE = {
  id: 1,
  created_at: "2026-11-21T00:00:00Z",
  created_by: "ada",
  format: "csv",
  query: "",
  state: "running",
  trouble: "",
  rows: 1,
  expected: 2,
  size: 1,
  sha256: null,
  started_at: null,
  done_at: null,
  expires_at: null,
};

/** Render the screen with a cached list whose refresh fails. */
async function renderWithFailedRefresh(role: string): Promise<HTMLElement> {
  vi.stubGlobal("fetch", () => Promise.resolve(Response.json({ detail: "It broke." }, { status: 500 })));
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  client.setQueryData(["session"], { role, read_only: false });
  client.setQueryData(
    ["exports"],
    { pages: [{ results: [ONE], next: null }], pageParams: [""] },
    { updatedAt: Date.now() - 300_000 },
  );
  const host = document.body.appendChild(document.createElement("div"));
  const root = createRoot(host);
  await act(() => root.render(inApp(client, <Exports />)));
  await settle();
  const copy = host.cloneNode(true) as HTMLElement;
  await act(() => root.unmount());
  return copy;
}

it("a list that was not refreshed shows its age", async () => {
  const screen = await renderWithFailedRefresh("operator");
  expect(screen.textContent).toContain("Not refreshed: It broke. Shown data is from 5 min ago. Try again");
  expect(screen.querySelectorAll("[data-testid=export]")).toHaveLength(1);
});

it("a viewer sees the role that canceling needs", async () => {
  const screen = await renderWithFailedRefresh("viewer");
  const cancel = [...screen.querySelectorAll("button")].find((one) => one.textContent === "Cancel");
  expect(cancel?.getAttribute("aria-description")).toBe("Needs the role operator");
});
