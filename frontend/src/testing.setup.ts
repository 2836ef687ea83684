import { afterEach, beforeEach, expect, vi } from "vitest";

// Test files share one window and one module cache per worker. Each test must leave both as it found them.
Element.prototype.scrollIntoView = () => undefined; // happy-dom has no layout

beforeEach(() => {
  vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
  vi.useFakeTimers();
});

afterEach(() => {
  const left = [...document.body.children].flatMap((host) => [...host.children]).map((one) => one.outerHTML);
  document.body.replaceChildren();
  localStorage.clear();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  expect(left, "what a test mounts it must unmount").toEqual([]);
});
