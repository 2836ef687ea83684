import { act } from "react";
import { createRoot } from "react-dom/client";
import { MemoryRouter } from "react-router";
import { expect, it } from "vitest";
import type { DeadLetter } from "../../api/types";
import { ZoneProvider } from "../../lib/zone";
import { AttemptsPanel } from "./AttemptsPanel";

const ATTEMPTS: DeadLetter["attempts"] = [
  { number: 1, topic: "orders", partition: 3, offset: 88412, due_at: null, failed_at: null },
  { number: 3, topic: null, partition: null, offset: null, due_at: "2026-11-27T17:31:32.376Z", failed_at: null },
];

async function text(attempts: DeadLetter["attempts"]): Promise<[string, string | undefined]> {
  const host = document.createElement("div");
  const root = createRoot(host);
  const letter = { attempts, failed_at: "2026-11-27T17:31:32.497Z" } as DeadLetter;
  await act(() =>
    root.render(
      <MemoryRouter>
        <ZoneProvider>
          <AttemptsPanel letter={letter} />
        </ZoneProvider>
      </MemoryRouter>,
    ),
  );
  const rows = [...host.querySelectorAll("tbody tr")].map((row) =>
    [...row.querySelectorAll("td")].map((cell) => cell.textContent).join(" | "),
  );
  const link = host.querySelector("tbody a")?.getAttribute("href") ?? undefined;
  await act(() => root.unmount());
  return [rows.join("\n"), link];
}

it("shows each attempt with what the headers tell, and no more", async () => {
  const [rows, link] = await text(ATTEMPTS);
  expect(rows).toMatch(/^1 \| orders \/ 3 \/ 88,412 \| – \| –\n3 \| not in the headers \| \d\d:31:32\.376 \| –$/);
  expect(link).toBe("/topics/orders?partition=3&offset=88412");
});

it("shows nothing without a chain", async () => {
  expect(await text([])).toEqual(["", undefined]);
});
