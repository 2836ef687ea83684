import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it } from "vitest";
import { useKeys } from "../lib/keys";
import { useColumnBrush } from "./useColumnBrush";

let root: Root;
let picked: number[][];
let escapes: number;

function Chart() {
  const { handlers } = useColumnBrush({ size: 10, onPick: (first, last) => void picked.push([first, last]) });
  useKeys({ Escape: () => void escapes++ });
  return <div data-testid="chart" {...handlers} />;
}

beforeEach(async () => {
  [picked, escapes] = [[], 0];
  root = createRoot(document.body.appendChild(document.createElement("div")));
  await act(() => root.render(<Chart />));
  Object.assign(chart(), {
    getBoundingClientRect: () => ({ left: 0, width: 100 }),
    setPointerCapture: () => undefined,
  });
});

afterEach(async () => {
  await act(() => root.unmount());
});

const chart = () => document.querySelector<HTMLElement>("[data-testid=chart]")!;
const point = (type: string, clientX: number) =>
  act(() => chart().dispatchEvent(new PointerEvent(type, { clientX, button: 0, pointerId: 1, bubbles: true })));
const press = (key: string, shiftKey = false) =>
  act(() => chart().dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey, bubbles: true })));

it("a click narrows nothing, nor does a trembling one", async () => {
  for (const type of ["pointerdown", "pointerup"]) await point(type, 25);
  await point("pointerdown", 28);
  for (const type of ["pointermove", "pointerup"]) await point(type, 31);
  expect(picked).toEqual([]);
});

it("a drag narrows, within one column too", async () => {
  await point("pointerdown", 21);
  for (const type of ["pointermove", "pointerup"]) await point(type, 27);
  await point("pointerdown", 25);
  for (const type of ["pointermove", "pointerup"]) await point(type, 65);
  expect(picked).toEqual([
    [2, 2],
    [2, 6],
  ]);
});

it("Space narrows to the column of the keys", async () => {
  for (const key of ["ArrowRight", "ArrowRight", " "]) await press(key);
  expect(picked).toEqual([[1, 1]]);
});

it("Escape gives up the column of the keys, and only the next one is heard elsewhere", async () => {
  await press("ArrowRight");
  await press("Escape");
  expect(escapes).toBe(0);
  await press("Escape");
  expect(escapes).toBe(1);
});

it("Escape ends a drag and nothing else", async () => {
  await point("pointerdown", 25);
  await point("pointermove", 65);
  await press("Escape");
  await point("pointerup", 65);
  expect([escapes, picked]).toEqual([0, []]);
});
