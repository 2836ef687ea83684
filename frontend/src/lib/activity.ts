const RECENT_MS = 60_000;
const INPUTS = ["pointerdown", "pointermove", "keydown", "wheel", "touchstart"] as const;

/**
 * Return whether a person used this page within the last minute.
 *
 * Screens poll, so the server cannot tell from requests whether a user is active. It ends idle sessions.
 */
export const isPersonActive = watchInput(window);

/** Watch user input; return a function that tells whether the last input was within a minute. */
export function watchInput(target: Pick<Window, "addEventListener">, now: () => number = Date.now): () => boolean {
  let last = -Infinity;
  const note = (event: Event) => {
    if (event.isTrusted) last = now(); // ignore events that scripts dispatch
  };
  for (const name of INPUTS) target.addEventListener(name, note, { capture: true, passive: true });
  return () => now() - last < RECENT_MS;
}
