import { useRef, useState, type KeyboardEvent, type PointerEvent } from "react";

interface ColumnBrush {
  /** The number of columns. */
  size: number;
  /** The share of the element's width before the first and after the last column, 0 to 1. */
  inset?: { left: number; right: number };
  /** Called with the first and last column of a finished selection. */
  onPick?: ((first: number, last: number) => void) | undefined;
}

const DRAG_PX = 4; // a shorter drag counts as a click

/** Select a range of chart columns by a drag, or by arrow keys with Shift and then Space. */
export function useColumnBrush({ size, inset = { left: 0, right: 0 }, onPick }: ColumnBrush) {
  const [over, setOver] = useState<number | null>(null);
  const [anchor, setAnchor] = useState<number | null>(null);
  const [walking, setWalking] = useState(false);
  const pressedAt = useRef(0);
  const columnAt = (event: PointerEvent<Element>): number => {
    const box = event.currentTarget.getBoundingClientRect();
    const part = (event.clientX - box.left) / box.width;
    return Math.floor(((part - inset.left) / (1 - inset.left - inset.right)) * size);
  };
  const clamped = (column: number) => Math.max(0, Math.min(size - 1, column));
  const leave = () => (setOver(null), setAnchor(null), setWalking(false));
  const pick = () => {
    if (over !== null) onPick?.(Math.min(anchor ?? over, over), Math.max(anchor ?? over, over));
    leave();
  };
  const walk = (by: number, select: boolean) => {
    setWalking(true);
    setAnchor(select ? (anchor ?? over ?? clamped(size)) : null);
    setOver(over === null ? (by < 0 ? size - 1 : 0) : clamped(over + by));
  };
  const pointer = {
    onPointerMove: (event: PointerEvent<Element>) => {
      const column = columnAt(event);
      setOver(anchor !== null ? clamped(column) : column >= 0 && column < size ? column : null);
    },
    onPointerLeave: leave,
  };
  const picking = {
    onPointerDown: (event: PointerEvent<Element>) => {
      const column = columnAt(event);
      if (event.button !== 0 || column < 0 || column >= size) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      pressedAt.current = event.clientX;
      setOver(column);
      setAnchor(column);
    },
    onPointerUp: (event: PointerEvent<Element>) => {
      if (anchor === null) return;
      if (Math.abs(event.clientX - pressedAt.current) < DRAG_PX) setAnchor(null);
      else pick();
    },
    onPointerCancel: leave,
    onBlur: leave,
    onKeyDown: (event: KeyboardEvent<Element>) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (by !== undefined) walk(by, event.shiftKey);
      else if (event.key === " ") pick();
      else if (event.key === "Escape") leave();
      else return;
      event.preventDefault();
    },
    "data-choosing": walking || anchor !== null || undefined,
    tabIndex: 0,
    "aria-description":
      "Use arrow keys to move over the columns and Shift with arrow keys to select. Space narrows the time range to the selection; Escape clears it.",
    style: { cursor: "crosshair" },
  };
  const chosen =
    anchor !== null && over !== null ? { first: Math.min(anchor, over), last: Math.max(anchor, over) } : null;
  return { over, chosen, handlers: { ...pointer, ...(onPick && picking) } };
}
