import type { Bytes, FixBody, Message } from "../../api/replayTypes";
import { fromBase64 } from "../../lib/bytes";
import { sameBytes, toBase64, type Part } from "../../lib/editing";

export interface HeaderPart {
  id: number;
  name: string;
  value: Part;
}

/** A message while it is edited; a value that is too large to come is undefined and stays as it is. */
export interface Parts {
  key: Part;
  value: Part | undefined;
  headers: HeaderPart[];
}

export function partsOf(message: Message): Parts {
  return {
    key: partOf(message.key) ?? null,
    value: partOf(message.value),
    headers: message.headers.map((header, id) => ({ id, name: header.name, value: partOf(header.value) ?? null })),
  };
}

export function bodyOf(parts: Parts, base: string | null): FixBody {
  return {
    key: { base64: encoded(parts.key) },
    ...(parts.value !== undefined && { value: { base64: encoded(parts.value) } }),
    headers: parts.headers.map(({ name, value }) => ({ name, value: { base64: encoded(value) } })),
    base_updated_at: base,
  };
}

export function sameParts(one: Parts, other: Parts): boolean {
  return (
    sameBytes(one.key, other.key) &&
    (one.value === undefined || other.value === undefined
      ? one.value === other.value
      : sameBytes(one.value, other.value)) &&
    one.headers.length === other.headers.length &&
    one.headers.every(
      (header, at) =>
        header.name === other.headers[at]?.name && sameBytes(header.value, other.headers[at]?.value ?? null),
    )
  );
}

function partOf(bytes: Bytes): Part | undefined {
  if (bytes.base64 !== null) return fromBase64(bytes.base64) as Uint8Array<ArrayBuffer>;
  return bytes.size === null ? null : undefined;
}

function encoded(part: Part): string | null {
  return part === null ? null : toBase64(part);
}
