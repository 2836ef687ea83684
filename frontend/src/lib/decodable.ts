import { fromBase64 } from "./bytes";

const LAST_MAGIC_BYTE = 1;
type Headers = readonly { name: string }[];
type RecordPart = "key" | "value";
type Letter = Record<RecordPart, { size: number | null; withheld: boolean; json: boolean }> & { headers: Headers };

/** Return whether a decoder could show more of a key or value than its text does. */
export function isDecodable(letter: Letter, part: RecordPart): boolean {
  const { size, withheld, json } = letter[part];
  return size !== null && size > 0 && !withheld && (!json || hasSchemaHeader(part, letter.headers));
}

/** Return whether a key may name a schema: by a byte that no text begins with, or by a header. */
export function mayNameSchema(key: { base64: string | null }, headers: Headers): boolean {
  if (!key.base64) return false;
  return fromBase64(key.base64.slice(0, 4))[0]! <= LAST_MAGIC_BYTE || hasSchemaHeader("key", headers);
}

function hasSchemaHeader(part: RecordPart, headers: Headers): boolean {
  return headers.some(({ name }) => name === `__${part}_schema_id` || name.startsWith(`apicurio.${part}.`));
}
