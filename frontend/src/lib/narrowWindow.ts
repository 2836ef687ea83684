import { useSyncExternalStore } from "react";

const NARROW = "(max-width: 799.98px)";

/** Return whether the window is too narrow for writing; such windows are read-only. */
export function useIsNarrowWindow(): boolean {
  return useSyncExternalStore(subscribe, () => window.matchMedia(NARROW).matches);
}

function subscribe(changed: () => void): () => void {
  const query = window.matchMedia(NARROW);
  query.addEventListener("change", changed);
  return () => query.removeEventListener("change", changed);
}
