import { useMediaQuery } from "@mantine/hooks";
import { useVirtualizer } from "@tanstack/react-virtual";
import { Fragment, useEffect, useRef, type CSSProperties } from "react";
import { Link } from "react-router";
import type { DeadLetterRow } from "../../api/types";
import { useZone } from "../../lib/zone";
import { useHasSeveralClusters } from "../clusters/ClusterMark";
import { join } from "../../ui/Panel";
import { COLUMNS, DEFAULT_COLUMNS, gridOf, type Column } from "./columns";
import styles from "./Records.module.css";

interface Props {
  rows: readonly DeadLetterRow[];
  at: string | null;
  address: string;
  ticked: ReadonlySet<number>;
  /** The ids of the visible columns. */
  columns: readonly string[];
  /** Toggles a row; with `range`, ticks all rows since the last one. */
  onTick: (id: number, range: boolean) => void;
}

export function RecordRows({ rows, at, address, ticked, columns, onTick }: Props) {
  const scroll = useRef<HTMLDivElement>(null);
  const narrow = useMediaQuery("(max-width: 800px)") === true;
  const medium = useMediaQuery("(max-width: 1600px)") === true;
  const hasSeveral = useHasSeveralClusters();
  const shown = COLUMNS.filter(
    ({ id }) =>
      (narrow ? DEFAULT_COLUMNS : columns).includes(id) &&
      (hasSeveral || id !== "cluster") &&
      !(medium && columns === DEFAULT_COLUMNS && id === "connector"),
  );
  const grid = narrow ? undefined : gridOf(shown);
  const head = narrow ? 0 : 30;
  // The virtualizer returns functions that are not stable, so the compiler must not memoise this component.
  // eslint-disable-next-line react-hooks/incompatible-library
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => (narrow ? 52 : 26),
    overscan: 12,
    scrollMargin: head,
    scrollPaddingStart: head,
  });
  const current = rows.findIndex((row) => String(row.id) === at);
  useEffect(() => {
    if (current >= 0) virtual.scrollToIndex(current, { align: "auto" });
  }, [current, virtual]);
  useEffect(() => virtual.measure(), [narrow, virtual]);
  return (
    <div
      className={styles.rows}
      ref={scroll}
      role="table"
      aria-label="Dead letters, newest first"
      aria-rowcount={rows.length}
    >
      <div style={{ height: virtual.getTotalSize() + head, position: "relative" }} role="rowgroup">
        <div className={styles.head} role="row" style={grid}>
          {shown.map(({ id, head: name, className }) => (
            <span key={id} role="columnheader" className={className?.startsWith("num") ? "num" : undefined}>
              {name}
            </span>
          ))}
        </div>
        {virtual.getVirtualItems().map((item) => {
          const row = rows[item.index];
          return (
            row && (
              <Fragment key={row.id}>
                <RecordRow
                  row={row}
                  columns={shown}
                  grid={grid}
                  top={item.start}
                  current={String(row.id) === at}
                  ticked={ticked.has(row.id)}
                  to={`/records/${row.id}?${address}`}
                />
                <span role="row">
                  <span role="cell">
                    <input
                      type="checkbox"
                      className={styles.tick}
                      style={{ top: item.start }}
                      checked={ticked.has(row.id)}
                      aria-label={`Tick ${row.key_text ?? row.id}`}
                      onChange={() => undefined}
                      onClick={(event) => onTick(row.id, event.shiftKey)}
                    />
                  </span>
                </span>
              </Fragment>
            )
          );
        })}
      </div>
    </div>
  );
}

interface RecordRowProps {
  row: DeadLetterRow;
  columns: readonly Column[];
  grid: CSSProperties | undefined;
  top: number;
  current: boolean;
  ticked: boolean;
  to: string;
}

function RecordRow({ row, columns, grid, top, current, ticked, to }: RecordRowProps) {
  const { zone } = useZone();
  return (
    <Link
      to={to}
      role="row"
      className={join(styles.record, ticked && styles.ticked, current && styles.current)}
      style={{ top, ...grid }}
      data-testid="record"
      data-stage={row.stage}
    >
      {columns.map(({ id, cell, title, className, narrow }) => (
        <span
          key={id}
          role="cell"
          className={join("cut", className)}
          data-narrow={narrow ?? "none"}
          title={title?.(row)}
        >
          {cell(row, zone)}
        </span>
      ))}
    </Link>
  );
}
