import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot } from "react-dom/client";
import { expect, it } from "vitest";
import { ExportButton } from "./ExportButton";
import { inApp } from "../../testing";

/** Return the text and state of the dialog's submit button, or null if the dialog does not open. */
async function submitText(
  total: { count: number; exact: boolean },
  role = "operator",
  readOnly = false,
  reads = true,
): Promise<string | null> {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(["session"], { role, read_only: readOnly, payload_reader: reads });
  const host = document.body.appendChild(document.createElement("div"));
  const root = createRoot(host);
  await act(() => root.render(inApp(client, <ExportButton query="q=x" total={total} />)));
  await act(() => host.querySelector("button")?.click());
  const yes = [...document.querySelectorAll("[role=dialog] form button")].at(-1);
  const said =
    yes && `${yes.textContent}${yes.hasAttribute("data-disabled") ? `: ${yes.getAttribute("aria-description")}` : ""}`;
  await act(() => root.unmount());
  host.remove();
  return said ?? null;
}

it("up to 10 000 records are downloaded immediately", async () => {
  expect(await submitText({ count: 10_000, exact: true })).toBe("Download");
});

it("a worker writes more records, or an unknown number", async () => {
  expect(await submitText({ count: 10_001, exact: true })).toBe("Write the file");
  expect(await submitText({ count: 10_000, exact: false })).toBe("Write the file");
});

it("a read-only cluster allows downloads but no files", async () => {
  expect(await submitText({ count: 1, exact: true }, "operator", true)).toBe("Download");
  expect(await submitText({ count: 10_001, exact: true }, "operator", true)).toBe(
    "Write the file: This cluster is read-only",
  );
});

it("a viewer cannot export", async () => {
  expect(await submitText({ count: 1, exact: true }, "viewer")).toBeNull();
});

it("an operator who may not read payloads cannot export", async () => {
  expect(await submitText({ count: 1, exact: true }, "operator", false, false)).toBeNull();
});
