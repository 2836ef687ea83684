import { useLayoutEffect } from "react";

/** Return the focus to the element that had it before a dialog or a form opened.
 *
 * Mantine's own hook misses dialogs that are rendered only while they are open: it learns the opener from a change of `open`.
 */
export function useFocusReturn(open: boolean): void {
  useLayoutEffect(() => {
    if (!open) return undefined;
    const opener = document.activeElement;
    return () => {
      if (opener instanceof HTMLElement) opener.focus({ preventScroll: true });
    };
  }, [open]);
}
