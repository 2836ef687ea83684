import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { DeadLetter, Header } from "../../api/types";
import { enter, inApp, settle } from "../../testing";
import { HeaderTable } from "../payload/HeaderTable";
import { MaskedMark } from "./Reveal";

const LETTER = { id: 7, withheld: false } as DeadLetter;
const HEADER: Header = {
  name: "ssn",
  size: 7,
  base64: "KioqMDE0Mg==",
  text: "***0142",
  is_null: false,
  withheld: false,
  masked: true,
};

let root: Root;
let sent: { url: string; body: unknown }[];

beforeEach(() => {
  vi.useFakeTimers();
  sent = [];
  vi.stubGlobal("fetch", (url: string, { body }: RequestInit) => {
    sent.push({ url, body: JSON.parse(body as string) as unknown });
    return Promise.resolve(Response.json({ results: [{ base64: "NTU1LTAxNDI=", text: "555-0142" }] }));
  });
});

afterEach(async () => {
  await act(() => root.unmount());
  vi.useRealTimers();
});

async function show(session: Record<string, unknown> = {}): Promise<void> {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  client.setQueryData(["session"], { role: "operator", payload_reader: true, ...session });
  root = createRoot(document.body.appendChild(document.createElement("div")));
  const table = (
    <HeaderTable
      headers={[HEADER, { ...HEADER, name: "plain", text: "*** shown", masked: false }]}
      maskOf={(header) =>
        header.masked && <MaskedMark letter={LETTER} what={{ part: "header", header: header.name }} />
      }
    />
  );
  await act(() => root.render(inApp(client, table)));
  await settle();
}

const text = () => document.body.textContent ?? "";
const button = (name: string) =>
  [...document.querySelectorAll<HTMLElement>("button")].filter((one) => one.textContent === name).at(-1)!;

async function press(name: string): Promise<void> {
  await act(() => button(name).click());
  await settle();
}

it("masked content is shown once after a reason, and is gone when the dialog closes", async () => {
  await show();
  expect(document.querySelectorAll("[data-testid=masked]")).toHaveLength(1);
  await press("Reveal…");
  expect(button("Reveal").getAttribute("aria-description")).toBe("Enter a reason first");
  await enter(document.querySelector("textarea")!, "customer called");
  await press("Reveal");
  expect(sent).toEqual([
    {
      url: "/api/v1/dead-letters/7/reveal",
      body: { part: "header", header: "ssn", path: null, reason: "customer called" },
    },
  ]);
  expect(document.querySelector("code")!.textContent).toBe("555-0142");
  await press("Done");
  expect(text()).not.toContain("555-0142");
  await press("Reveal…");
  expect(text()).not.toContain("555-0142");
});

it.each([
  [{ role: "viewer" }, "Needs the role operator"],
  [{ payload_reader: false }, "Needs the right payload reader"],
])("others see the reason why they cannot reveal it: %j", async (session, reason) => {
  await show(session);
  expect(button("Reveal…").getAttribute("aria-description")).toContain(reason);
});
