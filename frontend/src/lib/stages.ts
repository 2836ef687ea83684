const HUES: [RegExp, string[]][] = [
  [/^TASK_(PUT|POLL)$/, ["--put-1", "--put-2", "--put-3", "--put-4"]],
  [/CONVERTER$/, ["--value-1", "--value-2"]],
  [/^(TRANSFORMATION|PROCESSOR)$/, ["--trans-1", "--trans-2"]],
];
const OTHER = ["--other-1"];
/** The colour of the sum of all other series. */
export const OTHERS = "var(--others)";

/** The labels and colours of the buckets in which consumed records end. */
export const RECORD_OUTCOMES: Record<string, { label: string; colour: string }> = {
  delivered: { label: "delivered", colour: "var(--trans-1)" },
  dead_lettered: { label: "dead-lettered", colour: "var(--value-1)" },
  skipped: { label: "skipped", colour: "var(--put-4)" },
  filtered: { label: "filtered", colour: "var(--put-3)" },
};

/** Return a stage's colour: the hue for the stage, the lightness for the group's rank in it. */
export function stageColour(stage: string | null | undefined, rank = 0): string {
  const hues = HUES.find(([pattern]) => pattern.test(stage ?? ""))?.[1] ?? OTHER;
  return `var(${hues[Math.min(rank, hues.length - 1)]})`;
}

/**
 * Return a colour per item. The first items of a stage get its hue, and the rest the colours that are left.
 * Up to nine items have different colours.
 */
export function stageColours(items: readonly { key: string; stage?: string | null }[]): Map<string, string> {
  const ranks = new Map<string, number>();
  const colours = new Map<string, string>();
  const left = new Set([...HUES.flatMap(([, hues]) => hues), ...OTHER].map((name) => `var(${name})`));
  const late: string[] = [];
  for (const { key, stage } of items) {
    const rank = ranks.get(stage ?? "") ?? 0;
    ranks.set(stage ?? "", rank + 1);
    const colour = stageColour(stage, rank);
    if (left.delete(colour)) colours.set(key, colour);
    else late.push(key);
  }
  const spare = [...left];
  late.forEach((key, index) => colours.set(key, spare[index] ?? OTHERS));
  return colours;
}

interface CountedStage {
  index: number;
  type: string;
  class: string;
  name: string;
  failed: number;
}

/** Return a task's failures at a stage; undefined if the task has another stage at this index. */
export function failedAt(stage: CountedStage, stages: readonly CountedStage[]): number | undefined {
  const own = stages[stage.index];
  return own && own.type === stage.type && own.class === stage.class && own.name === stage.name
    ? own.failed
    : undefined;
}

/** Return the last segment of a class's dotted path. */
export function shortClass(name: string | null | undefined): string {
  return name ? (name.split(".").at(-1) ?? name) : "–";
}
