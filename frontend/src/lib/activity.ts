const RECENT_MS = 60_000;
const INPUTS = ["pointerdown", "pointermove", "keydown", "wheel", "touchstart"] as const;

/**
 * Whether a person used this page within the last minute.
 *
 * The screens refresh by themselves. The server ends a session whose user does nothing, so requests say whether somebody is there.
 */
export const isPersonActive = watchInput(window);

/** Follows a person's input; returns a function that says whether the last one was within a minute. */
export function watchInput(target: Pick<Window, "addEventListener">, now: () => number = Date.now): () => boolean {
  let last = -Infinity;
  const note = (event: Event) => {
    if (event.isTrusted) last = now(); // a script's event is no person's
  };
  for (const name of INPUTS) target.addEventListener(name, note, { capture: true, passive: true });
  return () => now() - last < RECENT_MS;
}
