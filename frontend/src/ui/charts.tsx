import { useElementSize } from "@mantine/hooks";
import { useMemo, type ReactNode } from "react";
import { Link } from "react-router";
import { count, dateMinute, type Zone } from "../lib/format";
import styles from "./charts.module.css";
import { timeTicks, axisMax, valueTicks } from "./scales";
import { useColumnBrush } from "./useColumnBrush";

export interface ColumnSeries {
  key: string;
  label: string;
  colour: string;
  total: number;
  points: number[];
  to?: string;
}

/** A small column chart without axes. */
export function Sparkline({
  points,
  colour,
  width = 140,
  height = 26,
  label,
}: {
  points: readonly number[];
  colour: string;
  width?: number;
  height?: number;
  label: string;
}) {
  const max = Math.max(1, ...points);
  const step = width / Math.max(1, points.length);
  return (
    <svg
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={label}
      style={{ display: "block" }}
    >
      <path d={`M0 ${height - 0.5}H${width}`} stroke="var(--line-strong)" />
      <g fill={colour}>
        {points.map((value, index) => {
          if (value === 0) return null;
          const tall = Math.max(2, (value / max) * (height - 1));
          return (
            <rect
              key={index}
              x={index * step}
              y={height - tall}
              width={Math.max(1, step - Math.min(3, step * 0.25))}
              height={tall}
            />
          );
        })}
      </g>
    </svg>
  );
}

/** A marked moment or period of a chart. */
export interface ChartMark {
  key: string;
  letter: string;
  title: string;
  /** Milliseconds since the epoch; `until` is null for a moment. */
  at: number;
  until: number | null;
}

interface ColumnChartProps {
  series: readonly ColumnSeries[];
  from: number;
  bucketMs: number;
  height: number;
  zone: Zone;
  label: string;
  /** Draw axes, grid lines and time ticks. */
  axes?: boolean;
  /** Totals of another time range, drawn as a line over each column. */
  beside?: { label: string; points: readonly number[] } | undefined;
  marks?: readonly ChartMark[];
  /** The key of a mark that is pointed at elsewhere. */
  marked?: string | null;
  onNarrow?: (from: number, to: number) => void;
}

/** A stacked column chart over time with a tooltip and a hidden table for screen readers; a drag selects a time range. */
export function ColumnChart({
  series,
  from,
  bucketMs,
  height,
  zone,
  label,
  axes,
  beside,
  marks = [],
  marked = null,
  onNarrow,
}: ColumnChartProps) {
  const { ref, width: measured } = useElementSize();
  const width = Math.max(280, measured || 800);
  const pad = axes ? { left: 34, right: 12, top: 14, bottom: 26 } : { left: 0, right: 0, top: 2, bottom: 2 };
  const inner = { width: width - pad.left - pad.right, height: height - pad.top - pad.bottom };
  const size = Math.max(1, ...series.map((one) => one.points.length));
  const sums = useMemo(
    () => Array.from({ length: size }, (_, at) => series.reduce((sum, one) => sum + (one.points[at] ?? 0), 0)),
    [series, size],
  );
  const highest = Math.max(1, ...sums, ...(beside?.points ?? []));
  const top = axes ? axisMax(highest) : highest;
  const step = inner.width / size;
  const x = (index: number) => pad.left + index * step;
  const y = (value: number) => pad.top + inner.height * (1 - value / top);

  const { over, chosen, handlers } = useColumnBrush({
    size,
    inset: { left: pad.left / width, right: pad.right / width },
    onPick: onNarrow && ((first, last) => onNarrow(from + first * bucketMs, from + (last + 1) * bucketMs)),
  });
  const markX = (moment: number) =>
    pad.left + Math.max(0, Math.min(1, (moment - from) / (bucketMs * size))) * inner.width;
  const marksAt = (column: number) =>
    marks.filter(({ at }) => Math.max(0, Math.floor((at - from) / bucketMs)) === column);
  const time = (column: number) => dateMinute(new Date(from + column * bucketMs).toISOString(), zone);

  return (
    <div className={styles.chart} ref={ref}>
      <svg
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        {...handlers}
        role={onNarrow ? "group" : "img"}
        aria-label={label}
      >
        {axes &&
          valueTicks(top).map((value) => (
            <g key={value}>
              <path d={`M${pad.left} ${y(value)}H${width - pad.right}`} stroke="var(--line)" />
              <text x={pad.left - 8} y={y(value) + 4} textAnchor="end">
                {count(value)}
              </text>
            </g>
          ))}
        {chosen && (
          <rect
            x={x(chosen.first)}
            y={pad.top}
            width={(chosen.last - chosen.first + 1) * step}
            height={inner.height}
            fill="var(--accent)"
            opacity={0.12}
          />
        )}
        {over !== null && !chosen && (
          <rect x={x(over)} y={pad.top} width={step} height={inner.height} fill="var(--sunken)" />
        )}
        {stacks(series, size).map(({ key, colour, pieces }) => (
          <g key={key} fill={colour}>
            {pieces.map(({ at, base, value }) => (
              <rect
                key={at}
                x={x(at)}
                y={y(base + value)}
                width={Math.max(1, step - (step > 5 ? 1.4 : 0.4))}
                height={Math.max(1, y(base) - y(base + value))}
              />
            ))}
          </g>
        ))}
        {beside && (
          <path
            className={styles.comparison}
            d={beside.points.map((value, at) => `M${x(at)} ${y(value)}H${x(at + 1)}`).join("")}
          />
        )}
        <ChartMarks marks={marks} marked={marked} x={markX} top={pad.top} bottom={pad.top + inner.height} />
        {!axes && <path d={`M0 ${height - 1.5}H${width}`} stroke="var(--line-strong)" />}
        {axes &&
          timeTicks(from, bucketMs, size, zone, inner.width).map(({ at, text }) => (
            <g key={at}>
              <path d={`M${x(at)} ${pad.top + inner.height}v4`} stroke="var(--line-strong)" />
              <text x={x(at)} y={pad.top + inner.height + 17} textAnchor="middle">
                {text}
              </text>
            </g>
          ))}
      </svg>
      {over !== null && (
        <ChartTooltip left={x(over) + step / 2} width={width} top={axes ? 18 : height + 4}>
          <strong>
            {chosen && chosen.last > chosen.first ? `${time(chosen.first)} to ${time(chosen.last + 1)}` : time(over)}
            <span>
              {count(
                chosen
                  ? sums.slice(chosen.first, chosen.last + 1).reduce((sum, one) => sum + one, 0)
                  : (sums[over] ?? 0),
              )}
            </span>
          </strong>
          {!chosen &&
            series
              .filter((one) => (one.points[over] ?? 0) > 0)
              .slice(0, 9)
              .map((one) => (
                <div key={one.key}>
                  <i className={styles.swatch} style={{ background: one.colour }} />
                  <span className="cut">{one.label}</span>
                  <b>{count(one.points[over] ?? 0)}</b>
                </div>
              ))}
          {!chosen && beside && (
            <div>
              <i className={styles.comparisonKey} />
              <span className="cut">{beside.label}</span>
              <b>{count(beside.points[over] ?? 0)}</b>
            </div>
          )}
          {!chosen &&
            marksAt(over)
              .slice(0, 4)
              .map((mark) => (
                <div key={mark.key}>
                  <i className={styles.markKey}>{mark.letter}</i>
                  <span className="cut">{mark.title}</span>
                </div>
              ))}
        </ChartTooltip>
      )}
      <div className="sr">
        <table>
          <caption>{label}</caption>
          <tbody>
            {sums.map(
              (sum, at) =>
                sum > 0 && (
                  <tr key={at}>
                    <th>{time(at)}</th>
                    <td>{sum}</td>
                  </tr>
                ),
            )}
          </tbody>
        </table>
      </div>
    </div>
  );
}

const MARK_PX = 15; // the width of a letter; marks that are nearer share one label

/** Marks as dashed lines with letters, periods as bands. The list beside the chart names them for screen readers. */
function ChartMarks({
  marks,
  marked,
  x,
  top,
  bottom,
}: {
  marks: readonly ChartMark[];
  marked: string | null;
  x: (moment: number) => number;
  top: number;
  bottom: number;
}) {
  const labels: { at: number; first: string; last: string; hit: boolean }[] = [];
  for (const mark of marks) {
    const at = x(mark.at);
    const near = labels.at(-1);
    if (near && at - near.at < MARK_PX) {
      near.last = mark.letter;
      near.hit ||= mark.key === marked;
    } else labels.push({ at, first: mark.letter, last: mark.letter, hit: mark.key === marked });
  }
  return (
    <g className={styles.marks} aria-hidden="true">
      {marks.map((mark) => (
        <g key={mark.key} className={mark.key === marked ? styles.marked : undefined}>
          {mark.until !== null && (
            <rect x={x(mark.at)} y={top} width={Math.max(1, x(mark.until) - x(mark.at))} height={bottom - top} />
          )}
          <path d={`M${x(mark.at)} ${top}V${bottom}`} />
        </g>
      ))}
      {labels.map(({ at, first, last, hit }) => (
        <text key={at} x={at} y={top - 4} textAnchor="middle" className={hit ? styles.marked : undefined}>
          {first === last ? first : `${first}–${last}`}
        </text>
      ))}
    </g>
  );
}

/** Room for a chart that fills the rest of its panel, at least `height` pixels. */
export function ChartArea({ height, children }: { height: number; children: (height: number) => ReactNode }) {
  const { ref, height: measured } = useElementSize();
  return (
    <div className={styles.area} style={{ minHeight: height }} ref={ref}>
      <div className={styles.inArea}>{children(Math.max(height, Math.floor(measured)))}</div>
    </div>
  );
}

export function Legend({
  series,
  beside,
  besideTotal,
}: {
  series: readonly ColumnSeries[];
  beside?: { label: string; points: readonly number[] } | undefined;
  /** The total of `beside`, if it is not the sum of its points. */
  besideTotal?: number | undefined;
}) {
  return (
    <div className={styles.legend}>
      {series.map((one) => {
        const inside = (
          <>
            <i className={styles.swatch} style={{ background: one.colour }} />
            <span className="cut" style={{ display: "block" }}>
              {one.label}
            </span>
            <b>{count(one.total)}</b>
          </>
        );
        return one.to ? (
          <Link key={one.key} to={one.to} title={one.label}>
            {inside}
          </Link>
        ) : (
          <span key={one.key}>{inside}</span>
        );
      })}
      {beside && (
        <span>
          <i className={styles.comparisonKey} />
          {beside.label} <b>{count(besideTotal ?? beside.points.reduce((sum, one) => sum + one, 0))}</b>
        </span>
      )}
    </div>
  );
}

export function Swatch({ colour }: { colour: string }) {
  return <i className={styles.swatch} style={{ background: colour }} />;
}

function ChartTooltip({
  left,
  top,
  width,
  children,
}: {
  left: number;
  top: number;
  width: number;
  children: ReactNode;
}) {
  const side = left > width / 2 ? { right: width - left + 10 } : { left: left + 10 };
  return (
    <div className={styles.tip} aria-live="polite" style={{ top, ...side }}>
      {children}
    </div>
  );
}

function stacks(series: readonly ColumnSeries[], size: number) {
  const bases = new Array<number>(size).fill(0);
  return series.map(({ key, colour, points }) => ({
    key,
    colour,
    pieces: points.flatMap((value, at) => {
      const base = bases[at] ?? 0;
      bases[at] = base + value;
      return value > 0 ? [{ at, base, value }] : [];
    }),
  }));
}
