import { useEffect, useRef } from "react";

type Listener = (event: KeyboardEvent) => void;

/** Handlers by key: "j", "Enter", the sequence "g d", and "Mod+k" with Ctrl or ⌘. */
type Handlers = Record<string, Listener>;

const SEQUENCE_MS = 1_500;
const MODIFIERS = new Set(["Shift", "Control", "Alt", "Meta"]);
const PRESSABLE = "a, button, [role=tab], [role=option], [role=menuitem], summary, input, select";
const screens = new Set<() => Handlers>();
let before = { key: "", at: 0 };

// This listener must run before those of dialogs: after them, Escape would close the dialog and then act on the page.
window.addEventListener("keydown", pressed, true);

/** Call the handler of a pressed key, unless the focused element uses the key or a dialog or menu is open. */
export function useKeys(handlers: Handlers): void {
  const latest = useRef(handlers);
  useEffect(() => {
    latest.current = handlers;
  });
  useEffect(() => {
    const read = () => latest.current;
    screens.add(read);
    return () => void screens.delete(read);
  }, []);
}

function pressed(event: KeyboardEvent): void {
  const held = event.ctrlKey || event.metaKey;
  if (
    event.altKey ||
    MODIFIERS.has(event.key) ||
    (!held && isTaken(event)) ||
    document.querySelector("[role=dialog], [role=menu]")
  )
    return;
  const all = [...screens].map((read) => read());
  const names = held ? [`Mod+${event.key.toLowerCase()}`] : [...sequenceNames(event.key), event.key];
  const name = names.find((one) => all.some((handlers) => handlers[one] !== undefined));
  const opens = !held && all.some((handlers) => Object.keys(handlers).some((one) => one.startsWith(`${event.key} `)));
  before = opens && name === undefined ? { key: event.key, at: Date.now() } : { key: "", at: 0 };
  if (name !== undefined) all.forEach((handlers) => handlers[name]?.(event));
}

/** Return the sequence's name if its first key was pressed just before. */
function sequenceNames(key: string): string[] {
  return before.key && Date.now() - before.at <= SEQUENCE_MS ? [`${before.key} ${key}`] : [];
}

/** Return whether the key types text, presses the focused element, or clears a chart's selection. */
function isTaken({ key, target }: KeyboardEvent): boolean {
  if (key === "Escape" && document.querySelector("[data-choosing]")) return true;
  const presses = (key === "Enter" || key === " ") && target instanceof Element && target.closest(PRESSABLE) !== null;
  return presses || isTyping(target);
}

function isTyping(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement && target.type === "checkbox") return false;
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName))
  );
}
