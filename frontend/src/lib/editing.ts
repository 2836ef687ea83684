/** Bytes while they are edited: text only when it is exactly UTF-8, hex otherwise; nothing is parsed and rewritten. */

export type Part = Uint8Array<ArrayBuffer> | null;

/** The bytes as text that gives the same bytes back, byte order mark and line ends included; null when there is none. */
export function asText(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** The text's UTF-8; null when it holds half a surrogate pair, which has no bytes. */
export function fromText(text: string): Part {
  return /\p{Cs}/u.test(text) ? null : new TextEncoder().encode(text);
}

/** Whether a one-line field of the browser shows this text without changing it. */
export function fitsOneLine(text: string): boolean {
  return !/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(text);
}

/** "7b 22" and "7B22" alike; null when it is not pairs of hex digits. */
export function fromHex(text: string): Part {
  const digits = text.replace(/\s+/g, "");
  if (digits.length % 2 !== 0 || /[^0-9a-f]/i.test(digits)) return null;
  return Uint8Array.from({ length: digits.length / 2 }, (_, at) => parseInt(digits.slice(2 * at, 2 * at + 2), 16));
}

/** Sixteen bytes a line, in pairs of hex digits. */
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

/** Null is not empty. */
export function sameBytes(one: Part, other: Part): boolean {
  if (one === null || other === null) return one === other;
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

/** How many bytes the text before `at` takes. */
export function byteOffset(text: string, at: number): number {
  return new TextEncoder().encode(text.slice(0, at)).length;
}
