import { MantineProvider } from "@mantine/core";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { MemoryRouter } from "react-router";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ErrorBoundary } from "./ErrorBoundary";

function FailingScreen(): never {
  throw new Error("Importing a module script failed.");
}

describe("an error of a screen", () => {
  let host: HTMLElement;
  let root: Root;
  const reload = vi.fn();

  beforeEach(() => {
    const script = document.createElement("script");
    vi.spyOn(document, "querySelector").mockReturnValue(
      Object.assign(script, { src: "https://x/assets/index-old.js" }),
    );
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    vi.spyOn(window.location, "reload").mockImplementation(reload);
    host = document.createElement("div");
    root = createRoot(host);
  });

  afterEach(() => {
    act(() => root.unmount());
    sessionStorage.clear();
    reload.mockReset();
  });

  async function show(resetKey: string, build: string, failing: boolean): Promise<void> {
    const alive = new Response(null, { headers: { "X-Frontend-Build": build } });
    vi.stubGlobal("fetch", () => Promise.resolve(alive));
    await act(async () => {
      root.render(
        <MantineProvider>
          <MemoryRouter>
            <ErrorBoundary resetKey={resetKey}>{failing ? <FailingScreen /> : <p>The screen</p>}</ErrorBoundary>
          </MemoryRouter>
        </MantineProvider>,
      );
      await Promise.resolve();
    });
  }

  it("is shown with what to do, and gone on another screen", async () => {
    await show("/groups", "index-old", true);
    expect(host.textContent).toContain("This screen failed");
    expect(host.textContent).toContain("Importing a module script failed.");
    expect(reload).not.toHaveBeenCalled();
    await show("/records", "index-old", false);
    expect(host.textContent).toContain("The screen");
  });

  it("reloads the page if the server has a new build", async () => {
    await show("/groups", "index-new", true);
    expect(reload).toHaveBeenCalledTimes(1);
  });
});
