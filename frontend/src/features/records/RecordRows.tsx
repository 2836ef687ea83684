import { useMediaQuery } from "@mantine/hooks";
import { useVirtualizer } from "@tanstack/react-virtual";
import { Fragment, useEffect, useRef } from "react";
import { Link } from "react-router";
import type { DeadLetterRow } from "../../api/types";
import { bytes, count, dateTime } from "../../lib/format";
import { stageColour } from "../../lib/stages";
import { useZone } from "../../lib/zone";
import { Swatch } from "../../ui/charts";
import { join } from "../../ui/Panel";
import styles from "./Records.module.css";

const HEAD = ["Failed at ↓", "Part. / offset", "Key", "Stage", "Error", "Connector", "Value"];

interface Props {
  rows: readonly DeadLetterRow[];
  at: string | null;
  address: string;
  ticked: ReadonlySet<number>;
  /** Ticks a row or takes its tick away; with `range`, all rows since the last one. */
  onTick: (id: number, range: boolean) => void;
}

export function RecordRows({ rows, at, address, ticked, onTick }: Props) {
  const scroll = useRef<HTMLDivElement>(null);
  const narrow = useMediaQuery("(max-width: 800px)") === true;
  const head = narrow ? 0 : 30;
  // The virtualizer hands out functions that change under the compiler's feet; nothing here is memoised.
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
    <div className={styles.rows} ref={scroll} role="table" aria-label="Dead letters, newest first" aria-rowcount={rows.length}>
      <div style={{ height: virtual.getTotalSize() + head, position: "relative" }} role="rowgroup">
        <div className={styles.head} role="row">
          {HEAD.map((name, index) => <span key={name} role="columnheader" className={index === HEAD.length - 1 ? "num" : undefined}>{name}</span>)}
        </div>
        {virtual.getVirtualItems().map((item) => {
          const row = rows[item.index];
          return row && (
            <Fragment key={row.id}>
              <Row row={row} top={item.start} current={String(row.id) === at} ticked={ticked.has(row.id)} to={`/records/${row.id}?${address}`} />
              <input type="checkbox" className={styles.tick} style={{ top: item.start }} checked={ticked.has(row.id)} aria-label={`Tick ${row.key_text ?? row.id}`} onChange={() => undefined} onClick={(event) => onTick(row.id, event.shiftKey)} />
            </Fragment>
          );
        })}
      </div>
    </div>
  );
}

function Row({ row, top, current, ticked, to }: { row: DeadLetterRow; top: number; current: boolean; ticked: boolean; to: string }) {
  const { zone } = useZone();
  const error = row.readable ? row.message : "unreadable dead letter";
  return (
    <Link to={to} role="row" className={join(styles.record, ticked && styles.ticked, current && styles.current)} style={{ top }} data-testid="record" data-stage={row.stage}>
      <span role="cell">{dateTime(row.failed_at, zone)}</span>
      <span role="cell" className="cut" title={`Origin ${row.origin_topic ?? "unknown"}`}>
        {row.origin_partition === null ? <span className="t3">unknown</span> : <><span className="t3">{row.origin_partition} /</span> {count(row.origin_offset)}</>}
      </span>
      <span role="cell" className="cut" title={row.key_text ?? undefined}>{row.key_text ?? <span className="t3">null</span>}</span>
      <span role="cell" className={styles.stage}><Swatch colour={stageColour(row.stage)} /><span className="cut">{row.stage ?? "unreadable"}</span></span>
      <span role="cell" className="cut" title={error ?? undefined}>{error}</span>
      <span role="cell" className="cut" style={{ font: "12px/25px var(--sans)" }}>{row.connector ?? <span className="t3">unknown</span>}</span>
      <span role="cell" className="num t2" style={{ font: "12px/25px var(--sans)" }}>{bytes(row.value_size)}</span>
    </Link>
  );
}
