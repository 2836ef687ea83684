/** A followed query is read again after this time although nothing changed, because its time range moves. */
const SAFETY_MS = 120_000;

let streaming = false;

/** Whether the server's live events arrive. */
export function isStreaming(): boolean {
  return streaming;
}

export function setStreaming(next: boolean): void {
  streaming = next;
}

/** Options of a query that is read again after a live event, or every `everyMs` while no live events arrive. */
export function followed(everyMs: number) {
  return { meta: { followed: true }, refetchInterval: () => (streaming ? SAFETY_MS : everyMs) };
}
