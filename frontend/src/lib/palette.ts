/** An entry of the command palette. */
export interface PaletteEntry {
  section: string;
  label: string;
  note?: string;
  to: string;
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
  const hits = places.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)));
  const sections = [...new Set(hits.map((place) => place.section))];
  return sections.flatMap((section) => {
    const own = hits.filter((place) => place.section === section);
    const begins = own.filter((place) => place.label.toLowerCase().startsWith(first));
    return [...new Set([...begins, ...own])].slice(0, MAX_PER_SECTION);
  });
}
