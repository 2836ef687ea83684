import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act } from "react";
import { createRoot } from "react-dom/client";
import { MemoryRouter } from "react-router";
import { afterEach, expect, it, vi } from "vitest";
import { Record } from "./Record";

const answer = vi.hoisted(() => ({ data: undefined, error: null as Error | null, isPlaceholderData: false }));
vi.mock("../../api/deadLetters", async (original) => ({
  ...(await original<typeof import("../../api/deadLetters")>()),
  useDeadLetter: () => answer,
}));

afterEach(() => {
  answer.error = null;
});

/** Return the page headings of the screen. */
async function headings(): Promise<(string | null)[]> {
  const host = document.createElement("div");
  const root = createRoot(host);
  const page = (
    <QueryClientProvider client={new QueryClient()}>
      <MantineProvider env="test">
        <MemoryRouter>
          <Record />
        </MemoryRouter>
      </MantineProvider>
    </QueryClientProvider>
  );
  await act(() => root.render(page));
  const found = [...host.querySelectorAll("h1")].map((one) => one.textContent);
  await act(() => root.unmount());
  return found;
}

it("has a page heading while the record is loaded", async () => {
  expect(await headings()).toEqual(["Record"]);
});

it("has a page heading when the record could not be loaded", async () => {
  answer.error = new Error("no");
  expect(await headings()).toEqual(["Record"]);
});
