/** The columns and marks of a trend, from the API's documents. */
import type { Annotation, Trends } from "../../api/types";
import { recordsOf, type Field } from "../../lib/filter";
import { inSpan, type Span } from "../../lib/span";
import { OTHERS, RECORD_OUTCOMES, stageColours } from "../../lib/stages";
import type { ChartMark, ColumnSeries } from "../../ui/charts";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

export const FILTERS = ["topic", "connector", "group", "stage"] as const;

/** Names of a topic, a connector and a stage, and the number of a group; empty matches everything. */
export type TrendFilter = Record<(typeof FILTERS)[number], string>;

/** Return the series with colours, and with links to the dead letters that they count. */
export function toColumns(data: Trends, filter: TrendFilter, span: Span): ColumnSeries[] {
  const keyed = data.series.map((one) => ({
    ...one,
    key: one.others ? "others" : one.key,
    stage: one.stage || null,
  }));
  const colours = stageColours(keyed);
  return keyed.map((one) => {
    const outcome = data.measure === "throughput" && data.by === "none" ? RECORD_OUTCOMES[one.key] : undefined;
    const to = one.others ? undefined : addressOf(data, one.key, filter, span);
    return {
      key: one.key,
      label: outcome?.label ?? labelOf(data, one.label),
      colour: one.others ? OTHERS : (outcome?.colour ?? colours.get(one.key) ?? OTHERS),
      total: one.total,
      points: one.points,
      ...(to && { to }),
    };
  });
}

/** Return the newest annotations, oldest first, with letters. */
export function toMarks(rows: readonly Annotation[]): ChartMark[] {
  return rows.slice(-LETTERS.length).map((row, index) => ({
    key: row.id,
    letter: LETTERS[index]!,
    title: row.title,
    at: Date.parse(row.at),
    until: row.until === null ? null : Date.parse(row.until),
  }));
}

/** Return the records page of a series; nothing for records that are no dead letters. */
function addressOf(data: Trends, key: string, filter: TrendFilter, span: Span): string | undefined {
  const isOutcome = data.measure === "throughput" && data.by === "none" && key !== "dead_lettered";
  if (isOutcome || (data.by !== "none" && !key)) return undefined;
  const values: Partial<Record<Field, string>> = {};
  for (const name of FILTERS) if (filter[name]) values[name] = filter[name];
  if (data.by !== "none") values[data.by] = key;
  return inSpan(recordsOf(values), span);
}

function labelOf(data: Trends, label: string): string {
  if (data.by !== "none") return label || `without a ${data.by}`;
  return data.measure === "lag" ? "highest lag" : label;
}
