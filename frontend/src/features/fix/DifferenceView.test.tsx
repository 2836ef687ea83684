import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, expect, it } from "vitest";
import DifferenceView from "./DifferenceView";

const BROKEN = '{"a":1,"b":2,"c":3,"d":4,"place:"é","e":5,"f":6,"g":7,"h":8,"i":9}';

let root: Root;

afterEach(async () => {
  await act(() => root.unmount());
});

async function shown(original: string, edited: string): Promise<HTMLElement> {
  const host = document.createElement("div");
  root = createRoot(host);
  await act(() => root.render(<DifferenceView original={original} edited={edited} hex={false} />));
  return host;
}

it("a restored quote shows as one line with its context", async () => {
  const host = await shown(BROKEN, BROKEN.replace("place", 'place"'));
  expect(host.querySelector("header")?.textContent).toBe("Difference1 line; 67 other bytes identical");
  expect(host.querySelectorAll('[aria-label="removed"]')).toHaveLength(1);
  expect([...host.querySelectorAll("b")].map((one) => one.textContent)).toEqual(["Difference", '"']);
  expect([...host.querySelectorAll("button")].map((one) => one.textContent)).toEqual([
    "⋯ 3 lines, unchanged",
    "⋯ 4 lines, unchanged",
  ]);
});

it("a difference without structure folds unchanged bytes and opens on a click", async () => {
  const filler = "é".repeat(300);
  const host = await shown(`{"a: "${filler}", "b" 1 ,"${filler}`, `{"a: "${filler}", "b" 2 ,"${filler}`);
  expect(host.querySelector("header")?.textContent).toBe("Difference1 change; 1,216 other bytes identical");
  const [fold] = host.querySelectorAll("button");
  expect(fold?.textContent).toMatch(/bytes, unchanged$/);
  await act(() => fold!.click());
  expect(host.querySelectorAll("button")).toHaveLength(1);
});
