import { useSyncExternalStore } from "react";
import type { DisposalAct } from "../../api/disposals";

/** A decision that was made, or why one was not, when nobody was looking any more. */
export type Told = DisposalAct | { fault: string };

let shown: Told | null = null;
const listeners = new Set<() => void>();

/** Tells what became of a decision, on whatever screen the person is by then; null takes it away. */
export function tell(told: Told | null): void {
  shown = told;
  listeners.forEach((listener) => listener());
}

/** The latest that is still told. */
export function useTold(): Told | null {
  return useSyncExternalStore(
    (listener) => (listeners.add(listener), () => void listeners.delete(listener)),
    () => shown,
  );
}
