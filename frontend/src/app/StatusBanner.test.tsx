import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, expect, it, vi } from "vitest";
import { inApp, until } from "../testing";
import { StatusBanner } from "./StatusBanner";

let root: Root;

afterEach(async () => {
  await act(() => root.unmount());
});

it("a server that can't read its state says so above every screen", async () => {
  const detail = "The database does not respond, or is too busy.";
  vi.stubGlobal(
    "fetch",
    vi.fn(() => Promise.resolve(new Response(JSON.stringify({ detail, title: "", status: 503 }), { status: 503 }))),
  );
  root = createRoot(document.body.appendChild(document.createElement("div")));
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  await act(() => root.render(inApp(client, <StatusBanner />)));
  await until(() => document.body.textContent?.includes(detail));
  expect(document.body.textContent).toContain("The server can't read its state");
});
