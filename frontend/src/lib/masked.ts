/** Content that masking rules hide from the person: what it is, and what is shown instead. */

interface MaskedBytes {
  masked: boolean;
  /** JSON Pointers; "" is the whole. */
  masked_members: readonly string[];
}

const MOST_NAMED = 5;
const LAST_FOUR = /^\*\*\*\w{4}$/;
const HASH = /^sha256:[0-9a-f]{4}…[0-9a-f]{4}$/;

/** Return what is masked of a key or value in one sentence. `text` is what is shown; null if all is hidden. */
export function maskedText(part: string, { masked_members: members }: MaskedBytes, text: string | null): string {
  const named =
    text === null
      ? `all of the ${part}`
      : members.length === 0
        ? `text within the ${part}`
        : listed(members, (pointer) => `${pointer || `the whole ${part}`}${effect(text, pointer)}`);
  return `Masked for your roles: ${named}`;
}

/** Return the names of what is masked of a message: its members, headers and whole parts. */
export function maskedNames(message: {
  key: MaskedBytes & { base64: string | null };
  value: MaskedBytes & { base64: string | null };
  headers: readonly { name: string; value: MaskedBytes }[];
}): string[] {
  const parts = (["value", "key"] as const)
    .filter((part) => message[part].masked)
    .map((part) => {
      const { base64, masked_members: members } = message[part];
      if (base64 === null || members.includes("")) return `all of the ${part}`;
      if (members.length === 0) return `text within the ${part}`;
      return `${listed(members, (pointer) => pointer)} of the ${part}`;
    });
  const headers = message.headers.filter(({ value }) => value.masked).map(({ name }) => `the header ${name}`);
  return [...parts, ...headers];
}

function listed(members: readonly string[], name: (pointer: string) => string): string {
  const shown = members.slice(0, MOST_NAMED).map(name).join(", ");
  return members.length > MOST_NAMED ? `${shown} and ${members.length - MOST_NAMED} more` : shown;
}

/** Return the effect of the rule in brackets; nothing if the text is cut, so that it is no JSON. */
function effect(text: string, pointer: string): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "";
  }
  for (const step of pointer.split("/").slice(1)) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    value = typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
  }
  if (typeof value !== "string") return "";
  if (value === "***") return " (hidden)";
  if (LAST_FOUR.test(value)) return " (last four characters shown)";
  return HASH.test(value) ? " (shown as a hash)" : " (partly hidden)";
}
