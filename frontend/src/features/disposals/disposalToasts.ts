import { useSyncExternalStore } from "react";
import type { DisposalAct } from "../../api/disposals";

/** A stored decision, or the error of a request whose dialog was closed before the response. */
export type DisposalToastContent = DisposalAct | { error: string };

let current: DisposalToastContent | null = null;
const listeners = new Set<() => void>();

/** Show the result of a decision on any screen; null removes it. The toast outlives the screen that asked. */
export function showDisposalToast(content: DisposalToastContent | null): void {
  current = content;
  listeners.forEach((listener) => listener());
}

/** Return the current toast. */
export function useDisposalToast(): DisposalToastContent | null {
  return useSyncExternalStore(
    (listener) => (listeners.add(listener), () => void listeners.delete(listener)),
    () => current,
  );
}
