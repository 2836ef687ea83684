/** The lengths of time that screens offer. */
export const RANGES = [
  { value: "1h", label: "1 h", words: "the last hour" },
  { value: "24h", label: "24 h", words: "the last 24 h" },
  { value: "7d", label: "7 d", words: "the last 7 d" },
  { value: "30d", label: "30 d", words: "the last 30 d" },
] as const;

export type Range = (typeof RANGES)[number]["value"];

export function asRange(text: string | null): Range {
  return RANGES.find((one) => one.value === text)?.value ?? "7d";
}

export function rangeWords(range: Range): string {
  return RANGES.find((one) => one.value === range)?.words ?? range;
}
