import type { Bytes, FixBody, Message } from "../../api/replayTypes";
import { fromBase64 } from "../../lib/bytes";
import { sameBytes, toBase64, type Part } from "../../lib/editing";

/** A header while it is edited. `id` is its React key: names can repeat. */
export interface HeaderPart {
  id: number;
  name: string;
  value: Part;
  /** Whether masking rules hide content of it, so that it must stay as it is. */
  masked: boolean;
}

/** A message while it is edited. A part is undefined if it is hidden, or too large to load; then it stays unchanged. */
export interface MessageParts {
  key: Part | undefined;
  value: Part | undefined;
  headers: HeaderPart[];
}

export function partsOf(message: Message): MessageParts {
  return {
    key: partOf(message.key),
    value: partOf(message.value),
    headers: message.headers.map(({ name, value }, id) => ({
      id,
      name,
      value: partOf(value) ?? null,
      masked: value.masked,
    })),
  };
}

/** Return the request that saves the parts on top of the draft of the time `base`. */
export function fixBody(parts: MessageParts, base: string | null): FixBody {
  return {
    ...(parts.key !== undefined && { key: { base64: encoded(parts.key) } }),
    ...(parts.value !== undefined && { value: { base64: encoded(parts.value) } }),
    headers: parts.headers.map(({ name, value }) => ({ name, value: { base64: encoded(value) } })),
    base_updated_at: base,
  };
}

export function sameParts(first: MessageParts, other: MessageParts): boolean {
  return (
    samePart(first.key, other.key) &&
    samePart(first.value, other.value) &&
    first.headers.length === other.headers.length &&
    first.headers.every(
      (header, at) =>
        header.name === other.headers[at]?.name && sameBytes(header.value, other.headers[at]?.value ?? null),
    )
  );
}

function samePart(first: Part | undefined, other: Part | undefined): boolean {
  return first === undefined || other === undefined ? first === other : sameBytes(first, other);
}

function partOf(bytes: Bytes): Part | undefined {
  if (bytes.base64 !== null) return fromBase64(bytes.base64) as Uint8Array<ArrayBuffer>;
  return bytes.size === null ? null : undefined;
}

function encoded(part: Part): string | null {
  return part === null ? null : toBase64(part);
}
