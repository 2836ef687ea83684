import { useElementSize } from "@mantine/hooks";
import { Fragment, type ReactNode } from "react";
import { Link } from "react-router";
import { count, dateMinute, type Zone } from "../lib/format";
import styles from "./HeatMap.module.css";
import { timeTicks } from "./scales";
import { useColumnBrush } from "./useColumnBrush";

type Notes<T> = readonly [T, T, T];

export interface HeatRow {
  key: string;
  label: string;
  to: string;
  points: readonly number[];
  /** The values at the end of the row, one for each head. */
  notes: Notes<ReactNode>;
}

interface Props {
  rows: readonly HeatRow[];
  heads: Notes<string>;
  from: number;
  bucketMs: number;
  zone: Zone;
  label: string;
  onNarrow: (from: number, to: number) => void;
}

const SHADES = [0, 0.22, 0.42, 0.62, 0.82, 1];

/** A heat map over time with one scale for all rows; a drag selects a time range. */
export function HeatMap({ rows, heads, from, bucketMs, zone, label, onNarrow }: Props) {
  const size = Math.max(1, ...rows.map((row) => row.points.length));
  const most = Math.max(1, ...rows.flatMap((row) => row.points));
  const { ref, width } = useElementSize();
  const { over, chosen, handlers } = useColumnBrush({
    size,
    onPick: (first, last) => onNarrow(from + first * bucketMs, from + (last + 1) * bucketMs),
  });
  const time = (column: number) => dateMinute(new Date(from + column * bucketMs).toISOString(), zone);
  return (
    <div className={styles.heat}>
      <span className={styles.name} />
      <span className={`s t3 ${styles.over}`} aria-live="polite">
        {chosen
          ? `${time(chosen.first)} to ${time(chosen.last + 1)}`
          : over !== null
            ? `${time(over)}: ${count(rows.reduce((sum, row) => sum + (row.points[over] ?? 0), 0))}`
            : ""}
      </span>
      {heads.map((head) => (
        <span key={head} className="s t3 num">
          {head}
        </span>
      ))}
      {rows.map((row, index) => (
        <Fragment key={row.key}>
          <Link to={row.to} className={`s mono cut ${styles.name}`} title={row.label}>
            {row.label}
          </Link>
          <svg
            viewBox={`0 0 ${size} 1`}
            preserveAspectRatio="none"
            className={styles.row}
            {...handlers}
            {...(index > 0 && { tabIndex: -1 })}
            role="group"
            aria-label={`${label}: ${row.label}`}
          >
            {chosen && (
              <rect
                x={chosen.first}
                y={0}
                width={chosen.last - chosen.first + 1}
                height={1}
                fill="var(--accent)"
                opacity={0.18}
              />
            )}
            {row.points.map((value, at) => (
              <rect
                key={at}
                x={at + 0.04}
                y={0.04}
                width={0.92}
                height={0.92}
                fill={value ? "var(--put-1)" : "var(--sunken)"}
                opacity={value ? shade(value / most) : chosen ? 0.4 : 1}
              >
                <title>{`${time(at)}: ${count(value)}`}</title>
              </rect>
            ))}
            {over !== null && (
              <rect
                x={over}
                y={0}
                width={1}
                height={1}
                fill="none"
                stroke="var(--accent)"
                strokeWidth={1.5}
                vectorEffect="non-scaling-stroke"
              />
            )}
          </svg>
          {row.notes.map((note, place) => (
            <span key={place} className="s num nw">
              {note}
            </span>
          ))}
        </Fragment>
      ))}
      <span className={`xs t3 ${styles.marks}`} aria-hidden="true" ref={ref}>
        {timeTicks(from, bucketMs, size, zone, width || 640).map(({ at, text }) => (
          <i key={at} style={{ left: `${(100 * at) / size}%`, ...(at === 0 && { transform: "none" }) }}>
            {text}
          </i>
        ))}
      </span>
      <div className="sr">
        <table>
          <caption>{label}</caption>
          <tbody>
            {rows.flatMap((row) =>
              row.points.map(
                (value, at) =>
                  value > 0 && (
                    <tr key={`${row.key} ${at}`}>
                      <th>
                        {row.label}, {time(at)}
                      </th>
                      <td>{value}</td>
                    </tr>
                  ),
              ),
            )}
          </tbody>
        </table>
      </div>
    </div>
  );
}

/** Return one of five opacities. The square root keeps small counts visible beside a burst. */
function shade(part: number): number {
  return SHADES[Math.max(1, Math.ceil(Math.sqrt(part) * (SHADES.length - 1)))] ?? 1;
}
