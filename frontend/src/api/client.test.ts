import { expect, it, vi } from "vitest";

it("a request of a page that nobody uses is not marked as a person's", async () => {
  const { get } = await import("./client");
  const headers: Headers[] = [];
  vi.stubGlobal("fetch", (_: string, init: RequestInit) => {
    headers.push(new Headers(init.headers));
    return Promise.resolve(Response.json({}));
  });
  window.dispatchEvent(new Event("keydown"));
  await get("groups");
  expect(headers[0]?.has("X-User-Active")).toBe(false);
});
