/** Convert bytes for editing: as text if they are valid UTF-8, else as hex. Values are never parsed and serialised. */

export type Part = Uint8Array<ArrayBuffer> | null;

/** Decode bytes to text that encodes to the same bytes, with byte order mark and line ends; null if impossible. */
export function asText(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Encode text as UTF-8; null if it has an unpaired surrogate, which UTF-8 cannot encode. */
export function fromText(text: string): Part {
  return /\p{Cs}/u.test(text) ? null : new TextEncoder().encode(text);
}

/** Return whether a one-line input keeps this text unchanged. */
export function fitsOneLine(text: string): boolean {
  return !/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(text);
}

/** Parse hex such as "7b 22" or "7B22"; null if it is not pairs of hex digits. */
export function fromHex(text: string): Part {
  const digits = text.replace(/\s+/g, "");
  if (digits.length % 2 !== 0 || /[^0-9a-f]/i.test(digits)) return null;
  return Uint8Array.from({ length: digits.length / 2 }, (_, at) => parseInt(digits.slice(2 * at, 2 * at + 2), 16));
}

/** Format bytes as hex, sixteen per line. */
export function toHex(bytes: Uint8Array): string {
  let out = "";
  for (let at = 0; at < bytes.length; at += 1)
    out += (at === 0 ? "" : at % 16 === 0 ? "\n" : " ") + (bytes[at] ?? 0).toString(16).padStart(2, "0");
  return out;
}

export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

/** Compare bytes; null differs from empty. */
export function sameBytes(one: Part, other: Part): boolean {
  if (one === null || other === null) return one === other;
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

/** Return the number of UTF-8 bytes before index `at`. */
export function byteOffset(text: string, at: number): number {
  return new TextEncoder().encode(text.slice(0, at)).length;
}
