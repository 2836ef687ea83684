import { expect, it } from "vitest";
import { watchInput } from "./activity";

/** A page whose clock and input the test decides. */
function page() {
  const heard: Record<string, (event: Event) => void> = {};
  const at = { now: 1_000_000 };
  const target = {
    addEventListener: (name: string, listener: (event: Event) => void) => void (heard[name] = listener),
  };
  const isActive = watchInput(target as unknown as Window, () => at.now);
  const input = (name: string, isTrusted = true, screenX = 0) =>
    heard[name]?.({ type: name, isTrusted, screenX, screenY: 0 } as PointerEvent);
  return { at, isActive, input };
}

it("a page that was only opened has no active person", () => {
  expect(page().isActive()).toBe(false);
});

it.each(["pointerdown", "keydown", "wheel", "touchstart"])("a person is active for a minute after %s", (name) => {
  const { at, isActive, input } = page();
  input(name);
  at.now += 59_999;
  expect(isActive()).toBe(true);
  at.now += 1;
  expect(isActive()).toBe(false);
});

it("a script's event is no activity", () => {
  const { isActive, input } = page();
  input("keydown", false);
  expect(isActive()).toBe(false);
});

it("a pointer that rests is no activity, whatever comes to lie under it", () => {
  const { isActive, input } = page();
  input("pointermove");
  input("pointermove");
  expect(isActive()).toBe(false);
  input("pointermove", true, 5);
  expect(isActive()).toBe(true);
});
