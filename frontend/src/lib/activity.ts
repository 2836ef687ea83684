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
  let place: string | undefined;
  const note = (event: Event) => {
    if (!event.isTrusted) return; // a script's
    if (event.type === "pointermove") {
      // The browser also sends a move when a new layout comes to lie under a pointer that rests.
      const { screenX, screenY } = event as PointerEvent;
      const before = place;
      place = `${screenX},${screenY}`;
      if (before === undefined || before === place) return;
    }
    last = now();
  };
  for (const name of INPUTS) target.addEventListener(name, note, { capture: true, passive: true });
  return () => now() - last < RECENT_MS;
}
