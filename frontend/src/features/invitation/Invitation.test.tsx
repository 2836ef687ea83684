import { QueryClient } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { Route, Routes } from "react-router";
import { afterEach, expect, it, vi } from "vitest";
import { inApp, settle } from "../../testing";
import { Invitation } from "./Invitation";

const OFFER = {
  name: "sam@example.com",
  team: "stations",
  roles: ["operator"],
  inviter: "ada",
  username: null,
  expires_at: "2026-12-05T00:00:00Z",
};
let root: Root;

afterEach(async () => {
  await act(() => root.unmount());
});

async function show(offer: () => Response): Promise<string[]> {
  const sent: string[] = [];
  vi.stubGlobal("fetch", (url: string, init: RequestInit) => {
    if (init.method === "POST") sent.push(`${url} ${init.body as string}`);
    if (url.endsWith("/offer")) return Promise.resolve(offer());
    return Promise.resolve(Response.json({ authenticated: false }));
  });
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  root = createRoot(document.body.appendChild(document.createElement("div")));
  const routes = (
    <Routes>
      <Route path="/invitation/:token" element={<Invitation />} />
    </Routes>
  );
  await act(() => root.render(inApp(client, routes, "/invitation/secret")));
  await settle();
  return sent;
}

it("the page says who invites with which roles, and asks for a name and a password", async () => {
  const sent = await show(() => Response.json(OFFER));
  expect(sent).toEqual(['/api/v1/invitations/offer {"token":"secret"}']);
  expect(document.body.textContent).toContain("ada invites you. Your role in stations: operator.");
  expect(document.querySelector("[type=submit], [aria-disabled=true]")?.getAttribute("aria-description")).toBe(
    "Choose a user name first",
  );
});

it("a link for a password names its account", async () => {
  await show(() => Response.json({ ...OFFER, username: "sam", roles: [], team: null }));
  expect(document.body.textContent).toContain("ada lets you set a new password for sam.");
  expect(document.querySelector<HTMLInputElement>("input[name=username]")?.readOnly).toBe(true);
});

it("a link that is not valid shows one sentence and a way to sign in", async () => {
  await show(() =>
    Response.json({ title: "Not Found", status: 404, detail: "This link is not valid any more." }, { status: 404 }),
  );
  expect(document.querySelector("[role=alert]")?.textContent).toBe("This link is not valid any more.");
  expect(document.querySelector("a[href='/']")?.textContent).toBe("Sign in");
});
