/** One place of a dead letter; exactly one of `header`, `json` and `letter` is not null. */
export interface Source {
  header: string | null;
  json: string | null;
  letter: "key" | "value" | null;
  as: string | null;
  pick: "first" | "last";
  /** The record had the header before it failed, so a replay sends it. */
  keep: boolean;
}

export interface MappedFact {
  fact: string;
  required: boolean;
  sources: Source[];
}

/** A fact that a mapping can read, and the forms that it allows; the first is the default. */
export interface FactForms {
  fact: string;
  forms: string[];
}

/** A mapping that a person edits. */
export interface MappingDraft {
  name: string;
  topics: string[];
  facts: MappedFact[];
}

export type Place = "json" | "header" | "key" | "value";

export const PLACES: readonly { value: Place; label: string }[] = [
  { value: "json", label: "JSON path" },
  { value: "header", label: "Header" },
  { value: "key", label: "Letter's key" },
  { value: "value", label: "Letter's value" },
];

/** Return a mapping without other members, as a draft. */
export function draftOf(mapping: MappingDraft): MappingDraft {
  return {
    name: mapping.name,
    topics: mapping.topics,
    facts: mapping.facts.map(({ fact, required, sources }) => ({
      fact,
      required,
      sources: sources.map(sourceOf),
    })),
  };
}

/** Return a source without other members, such as the label that the API adds. */
export function sourceOf({ header, json, letter, as, pick, keep }: Source): Source {
  return { header, json, letter, as, pick, keep };
}

/** Return the first name for a mapping of a topic: the topic's, as far as a name may hold it. */
export function suggestedName(topic: string, taken: readonly string[]): string {
  const plain = topic
    .toLowerCase()
    .replace(/[^a-z0-9._-]/g, "-")
    .replace(/^[._-]+/, "");
  const name = (plain || "mapping").slice(0, 26);
  return taken.includes(name) ? `${name}-2` : name;
}

/** The forms that JSON does not have, and those that only JSON has. */
const FORMS_ELSEWHERE: Record<"json" | "bytes", string[]> = { json: ["int32", "int64"], bytes: ["json"] };

export function placeOf(source: Source): Place {
  if (source.letter !== null) return source.letter;
  return source.header !== null ? "header" : "json";
}

/** Return the source with its name, at another place. The form stays if the place allows it. */
export function movedTo(source: Source, place: Place): Source {
  const name = source.header ?? source.json ?? "";
  const as = FORMS_ELSEWHERE[place === "json" ? "json" : "bytes"].includes(source.as ?? "") ? null : source.as;
  return {
    header: place === "header" ? name.replace(/^\$\.?/, "") : null,
    json: place === "json" ? (name.startsWith("$") ? name : `$.${name}`) : null,
    letter: place === "key" || place === "value" ? place : null,
    as,
    pick: "first",
    keep: false,
  };
}

/** Return the forms that a fact can be read as from this source. */
export function formsOf(kind: FactForms, source: Source): string[] {
  const not = FORMS_ELSEWHERE[source.json === null ? "bytes" : "json"];
  return kind.forms.filter((form) => !not.includes(form));
}

/** Return the draft with this fact changed; null removes it. Facts keep the order of `kinds`. */
export function withFact(
  draft: MappingDraft,
  kinds: readonly FactForms[],
  fact: string,
  changed: Omit<MappedFact, "fact"> | null,
): MappingDraft {
  const found = new Map(draft.facts.map((one) => [one.fact, one]));
  if (changed === null) found.delete(fact);
  else found.set(fact, { fact, ...changed });
  return { ...draft, facts: kinds.flatMap((kind) => found.get(kind.fact) ?? []) };
}

/** Return whether one of these names or patterns with `*` matches the topic as a whole. */
export function coversTopic(patterns: readonly string[], topic: string): boolean {
  return patterns.some((pattern) => new RegExp(`^${pattern.split("*").map(escaped).join(".*")}$`, "s").test(topic));
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
