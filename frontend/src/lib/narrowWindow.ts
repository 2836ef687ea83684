import { useSyncExternalStore } from "react";

const NARROW = "(max-width: 799.98px)";

/** Is the window too narrow to write in with care? It is for reading then. */
export function useIsNarrowWindow(): boolean {
  return useSyncExternalStore(subscribe, () => window.matchMedia(NARROW).matches);
}

function subscribe(changed: () => void): () => void {
  const query = window.matchMedia(NARROW);
  query.addEventListener("change", changed);
  return () => query.removeEventListener("change", changed);
}
