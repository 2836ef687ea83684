import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, expect, it } from "vitest";
import { useSyncedScroll } from "./useSyncedScroll";

const HEIGHTS = { long: 900, longer: 1_700, short: 80 };
const WINDOW = 100;

let root: Root;

afterEach(async () => {
  await act(() => root.unmount());
});

function Panes() {
  const together = useSyncedScroll();
  return (
    <div onScrollCapture={together}>
      {Object.keys(HEIGHTS).map((name) => (
        <div key={name} id={name}>
          <p />
        </div>
      ))}
    </div>
  );
}

/** Panes of a hundred pixels, each with its height of text; it is said how far down each is. */
async function shown(): Promise<{ scroll: (name: string, top: number) => Promise<void>; tops: () => number[] }> {
  const host = document.body.appendChild(document.createElement("div"));
  root = createRoot(host);
  await act(() => root.render(<Panes />));
  const panes = Object.entries(HEIGHTS).map(([name, height]) => {
    const pane = host.querySelector<HTMLElement>(`#${name}`)!;
    let top = 0;
    Object.defineProperties(pane, {
      clientHeight: { value: WINDOW },
      scrollHeight: { value: Math.max(height, WINDOW) },
      scrollTop: { get: () => top, set: (next: number) => ((top = next), pane.dispatchEvent(new Event("scroll"))) },
    });
    return pane;
  });
  return {
    scroll: (name, top) => act(async () => void (host.querySelector(`#${name}`)!.scrollTop = top)),
    tops: () => panes.map((pane) => pane.scrollTop),
  };
}

it("each goes as far of its own way as the one that was scrolled", async () => {
  const { scroll, tops } = await shown();
  await scroll("long", 400);
  expect(tops()).toEqual([400, 800, 0]);
  await scroll("longer", 1_600);
  expect(tops()).toEqual([800, 1_600, 0]);
});

it("what has nowhere to go moves nothing", async () => {
  const { scroll, tops } = await shown();
  await scroll("long", 400);
  await scroll("short", 0);
  expect(tops()).toEqual([400, 800, 0]);
});
