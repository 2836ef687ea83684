import { formatClause } from "./query";

/** An entry of the command palette: a link, or an action in this window. */
export interface PaletteEntry {
  section: string;
  label: string;
  note?: string;
  /** Other words that find the entry. */
  also?: string;
  to?: string;
  act?: () => void;
}

export interface Coordinates {
  topic: string;
  partition: number;
  offset: number;
}

const MAX_PER_SECTION = 8;

/** Parse coordinates such as "orders.dlq / 3 / 918,221"; null for other text. */
export function coordinates(text: string): Coordinates | null {
  const found = /^\s*([\w.-]+)\s*\/\s*(\d{1,10})\s*\/\s*([\d,]{1,25})\s*$/.exec(text);
  if (!found?.[1] || !found[2] || !found[3]) return null;
  const offset = Number(found[3].replaceAll(",", ""));
  return Number.isSafeInteger(offset) ? { topic: found[1], partition: Number(found[2]), offset } : null;
}

/** Return the number in "R-12" or "r12"; null for other text. */
export function replayNumber(text: string): number | null {
  const found = /^\s*r-?(\d{1,9})\s*$/i.exec(text);
  return found ? Number(found[1]) : null;
}

/** Return the UUID of a replay, as the header dlq.replay.id has it; null for other text. */
export function replayUuid(text: string): string | null {
  return /^\s*([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\/\d+)?\s*$/i.exec(text)?.[1]?.toLowerCase() ?? null;
}

/** Return the records page of keys that begin with a text. */
export function keySearch(text: string): PaletteEntry[] {
  const key = text.trim();
  if (key.length < 2) return [];
  const clause = `${formatClause({ field: "key", values: [key], exclude: false })}*`;
  return [
    {
      section: "Search",
      label: `Records with a key that begins with ${key}`,
      to: `/records?${new URLSearchParams({ q: clause, from: "now-30d" })}`,
    },
  ];
}

/** A source of names: its name in a sentence, and its loading state. */
export interface Source {
  name: string;
  state: "pending" | "error" | "success";
}

/** Return a note if names are loading, could not be loaded, or do not match. */
export function paletteNote(sources: readonly Source[], found: number): string {
  const named = (state: Source["state"]) =>
    listed(
      sources.filter((one) => one.state === state).map((one) => one.name),
      "and",
    );
  if (named("pending")) return "Looking…";
  if (named("error")) return `The names of ${named("error")} could not be loaded.`;
  return found > 0
    ? ""
    : `Not among ${listed(
        sources.map((one) => one.name),
        "or",
      )}. A record is found by topic/partition/offset.`;
}

function listed(names: readonly string[], joint: string): string {
  return names.length > 1 ? `${names.slice(0, -1).join(", ")} ${joint} ${names.at(-1)}` : (names[0] ?? "");
}

/** Return entries whose label has every word, best matches first, limited per section. */
export function matchingEntries(places: readonly PaletteEntry[], text: string): PaletteEntry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const first = words[0] ?? "";
  const hits = places.filter(({ label, also = "" }) =>
    words.every((word) => `${label} ${also}`.toLowerCase().includes(word)),
  );
  const sections = [...new Set(hits.map((place) => place.section))];
  return sections.flatMap((section) => {
    const own = hits.filter((place) => place.section === section);
    const begins = own.filter((place) => place.label.toLowerCase().startsWith(first));
    return [...new Set([...begins, ...own])].slice(0, MAX_PER_SECTION);
  });
}
