import { useCallback, useRef, type UIEvent } from "react";

/**
 * Scrolls the children of an element together: each goes as far of its own way as the one that was scrolled.
 * Put what is returned on the element's `onScrollCapture`.
 */
export function useSyncedScroll(): (event: UIEvent<HTMLElement>) => void {
  const led = useRef(new Map<Element, number>()); // where each was put, to tell the echo of that from a person's scrolling
  return useCallback(({ currentTarget, target }) => {
    if (!(target instanceof HTMLElement) || target.parentElement !== currentTarget) return;
    const put = led.current.get(target);
    led.current.delete(target);
    if (put !== undefined && Math.abs(put - target.scrollTop) < 1) return;
    const way = target.scrollHeight - target.clientHeight;
    for (const other of currentTarget.children) {
      if (other === target || way <= 0) continue;
      const top = Math.round((target.scrollTop / way) * Math.max(0, other.scrollHeight - other.clientHeight));
      if (Math.abs(top - other.scrollTop) < 1) continue;
      other.scrollTop = top;
      led.current.set(other, other.scrollTop);
    }
  }, []);
}
