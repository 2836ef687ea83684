/** Names of objects on screens. */
export const replayName = (id: number) => `R-${id}`;
export const selectionName = (id: number) => `S-${id}`;
export const fixName = (id: number) => `F-${id}`;
export const bulkFixName = (id: number) => `B-${id}`;
export const exportName = (id: number) => `E-${id}`;

/** "7be2a90c41…" → "7be2…a90c", enough to compare by eye. */
export function shortDigest(digest: string): string {
  const plain = digest.replace(/^sha-?256:/, "");
  return plain.length > 12 ? `${plain.slice(0, 4)}…${plain.slice(-4)}` : plain;
}
