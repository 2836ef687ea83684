import { useEffect, useRef } from "react";

type Listener = (event: KeyboardEvent) => void;

// One listener from the start, before those of any dialog: after them, the Escape that closes one would find it closed.
const listeners = new Set<Listener>();
window.addEventListener("keydown", (event) => [...listeners].forEach((listen) => listen(event)), true);

/** Calls the handler of a pressed key, unless somebody is typing or a dialog or menu is open. */
export function useKeys(handlers: Record<string, Listener>): void {
  const latest = useRef(handlers);
  useEffect(() => {
    latest.current = handlers;
  });
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector("[role=dialog], [role=menu]")) return;
      const handler = latest.current[event.key];
      if (handler) handler(event);
    };
    listeners.add(listen);
    return () => void listeners.delete(listen);
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement && target.type === "checkbox") return false;
  return target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));
}
