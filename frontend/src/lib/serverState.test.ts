import { act, createElement } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { reloadForNewBuild, noteNoResponse, noteResponse, useServerState, type ServerState } from "./serverState";

function response(status: number, build?: string): Response {
  return new Response(null, { status, headers: build ? { "X-Frontend-Build": build } : {} });
}

describe("the state of the server", () => {
  let seen: ServerState;
  let unmount: () => void;

  function Probe() {
    seen = useServerState();
    return null;
  }

  beforeEach(() => {
    const script = document.createElement("script");
    vi.spyOn(document, "querySelector").mockReturnValue(
      Object.assign(script, { src: "https://x/assets/index-old.js" }),
    );
    const host = document.createElement("div");
    const root = createRoot(host);
    act(() => root.render(createElement(Probe)));
    unmount = () => act(() => root.unmount());
  });

  afterEach(() => {
    act(() => noteResponse(response(200)));
    sessionStorage.clear();
    unmount();
  });

  it("is unreachable from the first request without a response until the next response", () => {
    const start = Date.now();
    act(noteNoResponse);
    vi.advanceTimersByTime(5_000);
    act(noteNoResponse);
    expect(seen.unreachableSince).toBe(start);
    act(() => noteResponse(response(500)));
    expect(seen.unreachableSince).toBeNull();
  });

  it.each([502, 504])("is unreachable if a proxy answers %i for it", (status) => {
    act(() => noteResponse(response(status)));
    expect(seen.unreachableSince).not.toBeNull();
  });

  it("has a new build if a response names another one", () => {
    act(() => noteResponse(response(200, "index-old")));
    expect(seen.hasNewBuild).toBe(false);
    act(() => noteResponse(response(200, "index-new")));
    expect(seen.hasNewBuild).toBe(true);
  });

  it("reloads the page once for a new build", async () => {
    const reload = vi.spyOn(window.location, "reload").mockImplementation(() => undefined);
    vi.stubGlobal("fetch", () => Promise.resolve(response(200, "index-old")));
    await reloadForNewBuild();
    expect(reload).not.toHaveBeenCalled();
    vi.stubGlobal("fetch", () => Promise.resolve(response(200, "index-new")));
    await reloadForNewBuild();
    await reloadForNewBuild();
    expect(reload).toHaveBeenCalledTimes(1);
  });
});
