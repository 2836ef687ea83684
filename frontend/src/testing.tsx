import { MantineProvider } from "@mantine/core";
import { QueryClientProvider, type QueryClient } from "@tanstack/react-query";
import { act, type ReactElement, type ReactNode } from "react";
import { MemoryRouter } from "react-router";
import { expect, vi } from "vitest";

const ROUNDS = 4; // a response may render a component that sends the next request

/** Return a screen within all that the application puts around it, at an address. */
export function inApp(client: QueryClient, screen: ReactNode, address = "/"): ReactElement {
  return (
    <MantineProvider env="test">
      <QueryClientProvider client={client}>
        <MemoryRouter initialEntries={[address]}>{screen}</MemoryRouter>
      </QueryClientProvider>
    </MantineProvider>
  );
}

/** Run all timers of the next `ms`, show what they led to, and repeat until requests of requests are shown. The clock is fake: nothing is waited for. */
export async function settle(ms = 10): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) await act(() => vi.advanceTimersByTimeAsync(ms));
}

/** Move the fake clock on until `found` is true. */
export async function until(found: () => unknown): Promise<void> {
  for (let round = 0; round < 100 && !found(); round++) await act(() => vi.advanceTimersByTimeAsync(20));
  expect(found()).toBeTruthy();
}

/** Type a text into a field, as React hears it. */
export async function enter(field: HTMLTextAreaElement | HTMLInputElement, text: string): Promise<void> {
  await act(() => {
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field) as object, "value")!.set!.call(field, text);
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
}
