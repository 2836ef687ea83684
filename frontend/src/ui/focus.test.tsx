import { QueryClient } from "@tanstack/react-query";
import { act, useState, type ReactNode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { inApp, settle } from "../testing";
import { Dialog } from "./Dialog";
import { MenuButton } from "./MenuButton";
import { Button } from "./controls";

let root: Root;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(async () => {
  await act(() => root.unmount());
  vi.useRealTimers();
});

async function show(screen: ReactNode): Promise<void> {
  root = createRoot(document.body.appendChild(document.createElement("div")));
  await act(() => root.render(inApp(new QueryClient(), screen)));
}

async function press(name: string): Promise<void> {
  const found = [...document.querySelectorAll<HTMLElement>("button")].find((one) => one.textContent === name)!;
  await act(() => (found.focus(), found.click()));
  await settle();
}

async function escape(): Promise<void> {
  await act(() =>
    document.activeElement!.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true })),
  );
  await settle();
}

function Opener({ withMenu }: { withMenu?: boolean }) {
  const [isOpen, setOpen] = useState(false);
  const open = () => setOpen(true);
  return (
    <>
      {withMenu ? (
        <MenuButton label="More" items={[{ label: "Open", onClick: open }]} />
      ) : (
        <Button onClick={open}>Open</Button>
      )}
      {isOpen && (
        <Dialog open title="Question" onClose={() => setOpen(false)}>
          <input aria-label="Answer" data-autofocus />
        </Dialog>
      )}
    </>
  );
}

it("a dialog that is rendered while it is open returns the focus to its opener", async () => {
  await show(<Opener />);
  await press("Open");
  expect(document.querySelector("[role=dialog]")!.contains(document.activeElement)).toBe(true);
  await escape();
  expect(document.querySelector("[role=dialog]")).toBeNull();
  expect(document.activeElement!.textContent).toBe("Open");
});

it("a dialog of a menu returns the focus to the button of the menu", async () => {
  await show(<Opener withMenu />);
  await press("More");
  await press("Open");
  await escape();
  expect(document.activeElement!.textContent).toBe("More");
});

it("a busy button keeps the focus, and does nothing", async () => {
  const onClick = vi.fn();
  await show(
    <Button busy onClick={onClick}>
      Save
    </Button>,
  );
  await press("Save");
  expect(document.activeElement!.textContent).toBe("Save");
  expect(document.activeElement!.getAttribute("aria-disabled")).toBe("true");
  expect(onClick).not.toHaveBeenCalled();
});
