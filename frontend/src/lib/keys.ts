import { useEffect, useRef } from "react";

type Listener = (event: KeyboardEvent) => void;

/** By name of the key: "j", "Enter", two in a row as "g d", with Ctrl or ⌘ as "Mod+k". */
type Handlers = Record<string, Listener>;

const SEQUENCE_MS = 1_500;
const MODIFIERS = new Set(["Shift", "Control", "Alt", "Meta"]);
const PRESSABLE = "a, button, [role=tab], [role=option], [role=menuitem], summary, input, select";
const screens = new Set<() => Handlers>();
let before = { key: "", at: 0 };

// One listener from the start, before those of any dialog: after them, the Escape that closes one would find it closed.
window.addEventListener("keydown", pressed, true);

/** Calls the handler of a pressed key, unless it is meant for what has the focus, or a dialog or menu is open. */
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

/** The name of the second of two keys, if the first was pressed just before. */
function sequenceNames(key: string): string[] {
  return before.key && Date.now() - before.at <= SEQUENCE_MS ? [`${before.key} ${key}`] : [];
}

/** Does the key write into a field, press what has the focus, or give up columns chosen in a chart? */
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
