import { plural, span } from "./format";

/** The reasons for an unknown deletion time. */
export const REASONS: Record<string, string> = {
  not_told: "Kafka does not tell at present",
  no_topic: "its topic does not exist",
  no_timestamp: "the record has no timestamp",
  compaction: "its topic is compacted: a later record of the same key may replace it",
  retention_bytes: "its topic is limited by size (retention.bytes)",
};

/** Format a duration rounded down, in two units: "6 d 23 h", "2 h 40 min", "33 min". */
export function remainingWords(millis: number): string {
  const minutes = Math.max(0, Math.floor(millis / 60_000));
  const [days, hours] = [Math.floor(minutes / 1440), Math.floor(minutes / 60)];
  if (days > 0) return parts([days, "d"], [hours % 24, "h"]);
  return hours > 0
    ? parts([hours, "h"], [minutes % 60, "min"])
    : minutes > 0
      ? `${minutes} min`
      : span(Math.max(0, millis));
}

interface Tally {
  leaves: number;
  overdue: number;
  gone: number;
  kept: number;
  unknown: number;
  soon: number;
  next: string | null;
  reasons: string[];
}

/** Summarise the retention of many records, each called `one`: "all 12 dead letters gone". */
export function retentionSummary(tally: Tally, one: string, now: number): string {
  const all = tally.leaves + tally.overdue + tally.gone + tally.kept + tally.unknown;
  if (all === 0) return `no ${one}`;
  const many = (n: number) => `${n === all && n > 1 ? "all " : ""}${plural(n, one)}`;
  const said = [
    tally.gone > 0 && `${many(tally.gone)} gone`,
    tally.overdue > 0 && `${many(tally.overdue)} may leave at any moment`,
    tally.next &&
      `${tally.gone + tally.overdue > 0 ? "the next" : `first ${one}`} may leave in ${remainingWords(Date.parse(tally.next) - now)}`,
    tally.kept > 0 && `${many(tally.kept)} kept forever`,
    tally.unknown > 0 && `unknown of ${many(tally.unknown)}: ${whyUnknown(tally.reasons)}`,
  ];
  return said.filter(Boolean).join(", ");
}

/** Return the reasons without `no_topic`, which explains records that are gone. */
function whyUnknown(reasons: readonly string[]): string {
  const words = reasons.filter((reason) => reason !== "no_topic").map((reason) => REASONS[reason] ?? "not told");
  return words.join("; or ") || "not told";
}

function parts(...units: [number, string][]): string {
  return units
    .filter(([n]) => n > 0)
    .map(([n, unit]) => `${n} ${unit}`)
    .join(" ");
}
