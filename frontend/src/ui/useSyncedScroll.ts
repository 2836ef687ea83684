import { useCallback, useRef, type UIEvent } from "react";

/**
 * Scroll the children of an element together, each by the same share of its own height.
 * Pass the returned handler to the element's `onScrollCapture`.
 */
export function useSyncedScroll(): (event: UIEvent<HTMLElement>) => void {
  const led = useRef(new Map<Element, number>()); // positions set here, to ignore the scroll events that they cause
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
