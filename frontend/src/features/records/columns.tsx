import type { ReactNode } from "react";
import type { DeadLetterRow } from "../../api/types";
import { labelOf, type Field } from "../../lib/filter";
import { bytes, count, dateTime, type Zone } from "../../lib/format";
import { stageColour } from "../../lib/stages";
import { replayStateWords } from "../../lib/states";
import { Swatch } from "../../ui/charts";
import { ClusterMark } from "../clusters/ClusterMark";
import styles from "./Records.module.css";

export interface Column {
  id: string;
  /** The column header; `name` is the label in the column menu. */
  head: string;
  name: string;
  /** The minimum width in pixels, and the maximum as a CSS size if it can grow. */
  min: number;
  max?: string;
  /** The position in a narrow window, where each row has two lines; null hides the column. */
  narrow: "first" | "second" | "end" | null;
  cell: (row: DeadLetterRow, zone: Zone) => ReactNode;
  title?: (row: DeadLetterRow) => string | undefined;
  className?: string;
  /** Visible by default. */
  isDefault: boolean;
}

const GAP_PX = 12;
const EDGES_PX = 38;

const missing = (words: string) => <span className="t3">{words}</span>;

/** Return the common properties of a column that shows one field. */
const fieldColumn = (field: Field) => ({ id: field, head: labelOf(field), name: labelOf(field) });

/** All columns in display order. That of clusters is hidden if there is only one. */
export const COLUMNS: readonly Column[] = [
  {
    id: "failed_at",
    head: "Failed at ↓",
    name: "Failed at",
    min: 118,
    narrow: "first",
    isDefault: true,
    cell: (row, zone) => dateTime(row.failed_at, zone),
  },
  {
    id: "origin",
    head: "Part. / offset",
    name: "Origin partition and offset",
    min: 92,
    narrow: null,
    isDefault: true,
    cell: (row) =>
      row.origin_partition === null ? (
        missing("unknown")
      ) : (
        <>
          <span className="t3">{row.origin_partition} /</span> {count(row.origin_offset)}
        </>
      ),
    title: (row) => `Origin ${row.origin_topic ?? "unknown"}`,
  },
  {
    ...fieldColumn("origin_topic"),
    min: 90,
    max: "150px",
    narrow: null,
    isDefault: false,
    cell: (row) => row.origin_topic ?? missing("unknown"),
    title: (row) => row.origin_topic ?? undefined,
  },
  {
    id: "topic",
    head: "Dead letter topic",
    name: "Dead letter topic",
    min: 90,
    max: "150px",
    narrow: null,
    isDefault: false,
    cell: (row) => row.topic,
    title: (row) => `${row.topic} / ${row.partition} / ${row.offset}`,
  },
  {
    ...fieldColumn("cluster"),
    min: 96,
    max: "140px",
    narrow: "second",
    isDefault: true,
    cell: (row) => <ClusterMark name={row.cluster} />,
  },
  {
    ...fieldColumn("key"),
    min: 84,
    max: "120px",
    narrow: "first",
    isDefault: true,
    cell: (row) => (row.withheld ? missing("withheld") : (row.key_text ?? missing("null"))),
    title: (row) =>
      row.withheld ? "Content withheld. It needs the right payload reader." : (row.key_text ?? undefined),
  },
  {
    ...fieldColumn("stage"),
    min: 142,
    narrow: "end",
    isDefault: true,
    className: styles.stage!,
    cell: (row) => (
      <>
        <Swatch colour={stageColour(row.stage)} />
        <span className="cut">{row.stage ?? "unreadable"}</span>
      </>
    ),
  },
  {
    ...fieldColumn("exception"),
    min: 90,
    max: "150px",
    narrow: null,
    isDefault: false,
    cell: (row) => row.exception_class ?? missing("none"),
    title: (row) => row.exception_full ?? undefined,
  },
  {
    id: "error",
    head: "Error",
    name: "Error",
    min: 180,
    max: "1fr",
    narrow: "second",
    isDefault: true,
    cell: (row) => (row.readable ? row.message : "unreadable dead letter"),
    title: (row) => (row.readable ? (row.message ?? undefined) : undefined),
  },
  {
    ...fieldColumn("connector"),
    min: 108,
    narrow: null,
    isDefault: true,
    className: styles.words!,
    cell: (row) => row.connector ?? missing("unknown"),
    title: (row) => row.connector ?? undefined,
  },
  {
    ...fieldColumn("group"),
    min: 90,
    max: "160px",
    narrow: null,
    isDefault: false,
    className: styles.words!,
    cell: (row) => row.group?.title ?? missing("none"),
    title: (row) => row.group?.title,
  },
  {
    id: "replay",
    head: "Replay",
    name: labelOf("replay_state"),
    min: 92,
    narrow: null,
    isDefault: false,
    className: styles.words!,
    cell: (row) => replayStateWords(row.replay_state),
  },
  {
    id: "size",
    head: "Value",
    name: "Size of the value",
    min: 66,
    narrow: null,
    isDefault: true,
    className: `num t2 ${styles.words}`,
    cell: (row) => bytes(row.value_size),
  },
];

export const DEFAULT_COLUMNS: readonly string[] = COLUMNS.filter((one) => one.isDefault).map((one) => one.id);

/** Return the stored columns in display order, or the defaults if none of them is known. */
export function readColumns(kept: string | null): readonly string[] {
  const ids = new Set((kept ?? "").split(","));
  const known = COLUMNS.filter((one) => ids.has(one.id)).map((one) => one.id);
  return known.length === 0 || known.join() === DEFAULT_COLUMNS.join() ? DEFAULT_COLUMNS : known;
}

/** Return the CSS grid of the columns: their widths, and the minimum width of the table. */
export function gridOf(columns: readonly Column[]): { gridTemplateColumns: string; minWidth: number } {
  return {
    gridTemplateColumns: columns.map(({ min, max }) => (max ? `minmax(${min}px, ${max})` : `${min}px`)).join(" "),
    minWidth: columns.reduce((sum, { min }) => sum + min + GAP_PX, EDGES_PX),
  };
}
