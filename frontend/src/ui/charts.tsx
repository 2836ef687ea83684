import { useElementSize } from "@mantine/hooks";
import { useMemo, useState, type PointerEvent, type ReactNode } from "react";
import { Link } from "react-router";
import { count, dateMinute, dayMonth, timeOfDay, type Zone } from "../lib/format";
import styles from "./charts.module.css";

export interface ColumnSeries {
  key: string;
  label: string;
  colour: string;
  total: number;
  points: number[];
  to?: string;
}

/** Small columns with a scale of their own. */
export function Sparkline({ points, colour, width = 140, height = 26, label }: { points: readonly number[]; colour: string; width?: number; height?: number; label: string }) {
  const max = Math.max(1, ...points);
  const step = width / Math.max(1, points.length);
  return (
    <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label} style={{ display: "block" }}>
      <path d={`M0 ${height - 0.5}H${width}`} stroke="var(--line-strong)" />
      <g fill={colour}>
        {points.map((value, index) => {
          if (value === 0) return null;
          const tall = Math.max(2, (value / max) * (height - 1));
          return <rect key={index} x={index * step} y={height - tall} width={Math.max(1, step - Math.min(3, step * 0.25))} height={tall} />;
        })}
      </g>
    </svg>
  );
}

interface ColumnsProps {
  series: readonly ColumnSeries[];
  from: number;
  bucketMs: number;
  height: number;
  zone: Zone;
  label: string;
  /** Axis, grid and day marks; without them it is a strip above a table. */
  axes?: boolean;
  onNarrow?: (from: number, to: number) => void;
}

/** Stacked columns over time: exact counts under the pointer, a drag narrows the range, a hidden table for screen readers. */
export function Columns({ series, from, bucketMs, height, zone, label, axes, onNarrow }: ColumnsProps) {
  const { ref, width: measured } = useElementSize();
  const [over, setOver] = useState<number | null>(null);
  const [drag, setDrag] = useState<number | null>(null);
  const width = Math.max(280, measured || 800);
  const pad = axes ? { left: 34, right: 12, top: 14, bottom: 26 } : { left: 0, right: 0, top: 2, bottom: 2 };
  const inner = { width: width - pad.left - pad.right, height: height - pad.top - pad.bottom };
  const size = Math.max(1, ...series.map((one) => one.points.length));
  const sums = useMemo(() => Array.from({ length: size }, (_, at) => series.reduce((sum, one) => sum + (one.points[at] ?? 0), 0)), [series, size]);
  const top = axes ? niceTop(Math.max(1, ...sums)) : Math.max(1, ...sums);
  const step = inner.width / size;
  const x = (index: number) => pad.left + index * step;
  const y = (value: number) => pad.top + inner.height * (1 - value / top);

  const indexOf = (event: PointerEvent<SVGSVGElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const at = Math.floor((event.clientX - box.left - pad.left) / step);
    return at >= 0 && at < size ? at : null;
  };
  const finish = () => {
    if (onNarrow && drag !== null && over !== null) {
      const [first, last] = drag < over ? [drag, over] : [over, drag];
      onNarrow(from + first * bucketMs, from + (last + 1) * bucketMs);
    }
    setDrag(null);
  };

  return (
    <div className={styles.chart} ref={ref}>
      <svg
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={label}
        onPointerMove={(event) => setOver(indexOf(event))}
        onPointerLeave={() => (setOver(null), setDrag(null))}
        onPointerDown={(event) => onNarrow && setDrag(indexOf(event))}
        onPointerUp={finish}
        style={onNarrow ? { cursor: "crosshair" } : undefined}
      >
        {axes && ticks(top).map((value) => (
          <g key={value}>
            <path d={`M${pad.left} ${y(value)}H${width - pad.right}`} stroke="var(--line)" />
            <text x={pad.left - 8} y={y(value) + 4} textAnchor="end">{count(value)}</text>
          </g>
        ))}
        {drag !== null && over !== null && (
          <rect x={x(Math.min(drag, over))} y={pad.top} width={(Math.abs(over - drag) + 1) * step} height={inner.height} fill="var(--accent)" opacity={0.12} />
        )}
        {over !== null && drag === null && <rect x={x(over)} y={pad.top} width={step} height={inner.height} fill="var(--sunken)" />}
        {stacks(series, size).map(({ key, colour, pieces }) => (
          <g key={key} fill={colour}>
            {pieces.map(({ at, base, value }) => (
              <rect key={at} x={x(at)} y={y(base + value)} width={Math.max(1, step - (step > 5 ? 1.4 : 0.4))} height={Math.max(1, y(base) - y(base + value))} />
            ))}
          </g>
        ))}
        {!axes && <path d={`M0 ${height - 1.5}H${width}`} stroke="var(--line-strong)" />}
        {axes && marks(from, bucketMs, size, zone, inner.width).map(({ at, text }) => (
          <g key={at}>
            <path d={`M${x(at)} ${pad.top + inner.height}v4`} stroke="var(--line-strong)" />
            <text x={x(at)} y={pad.top + inner.height + 17} textAnchor="middle">{text}</text>
          </g>
        ))}
      </svg>
      {over !== null && (
        <Tip left={x(over) + step / 2} width={width} top={axes ? 18 : height + 4}>
          <strong>
            {dateMinute(new Date(from + over * bucketMs).toISOString(), zone)}
            <span>{count(sums[over] ?? 0)}</span>
          </strong>
          {series.filter((one) => (one.points[over] ?? 0) > 0).slice(0, 8).map((one) => (
            <div key={one.key}>
              <i className={styles.swatch} style={{ background: one.colour }} />
              <span className="cut">{one.label}</span>
              <b>{count(one.points[over] ?? 0)}</b>
            </div>
          ))}
        </Tip>
      )}
      <div className="sr"><table>
        <caption>{label}</caption>
        <tbody>
          {sums.map((sum, at) => sum > 0 && (
            <tr key={at}>
              <th>{dateMinute(new Date(from + at * bucketMs).toISOString(), zone)}</th>
              <td>{sum}</td>
            </tr>
          ))}
        </tbody>
      </table></div>
    </div>
  );
}

export function Legend({ series }: { series: readonly ColumnSeries[] }) {
  return (
    <div className={styles.legend}>
      {series.map((one) => {
        const inside = (
          <>
            <i className={styles.swatch} style={{ background: one.colour }} />
            <span className="cut" style={{ display: "block" }}>{one.label}</span>
            <b>{count(one.total)}</b>
          </>
        );
        return one.to ? <Link key={one.key} to={one.to} title={one.label}>{inside}</Link> : <span key={one.key}>{inside}</span>;
      })}
    </div>
  );
}

export function Swatch({ colour }: { colour: string }) {
  return <i className={styles.swatch} style={{ background: colour }} />;
}

function Tip({ left, top, width, children }: { left: number; top: number; width: number; children: ReactNode }) {
  const side = left > width / 2 ? { right: width - left + 10 } : { left: left + 10 };
  return <div className={styles.tip} style={{ top, ...side }}>{children}</div>;
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

function niceTop(max: number): number {
  const step = niceStep(max / 4);
  return Math.max(1, Math.ceil(max / step) * step);
}

function niceStep(raw: number): number {
  const size = 10 ** Math.floor(Math.log10(Math.max(raw, 1e-9)));
  const factor = [1, 2, 2.5, 5, 10].find((one) => one * size >= raw) ?? 10;
  return Math.max(1, Math.ceil(factor * size));
}

function ticks(top: number): number[] {
  const step = niceStep(top / 4);
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, index) => index * step);
}

const MARK_STEPS_MS = [1, 5, 10, 15, 30, 60, 120, 180, 360, 720].map((minutes) => minutes * 60_000).concat([1, 2, 7].map((days) => days * 86_400_000));

function marks(from: number, bucketMs: number, size: number, zone: Zone, width: number): { at: number; text: string }[] {
  const span = bucketMs * size;
  const every = MARK_STEPS_MS.find((step) => (span / step) * 64 <= width) ?? 14 * 86_400_000;
  const shift = zone === "local" ? new Date(from).getTimezoneOffset() * 60_000 : 0;
  const out = [];
  for (let time = Math.ceil((from - shift) / every) * every + shift; time < from + span; time += every) {
    const iso = new Date(time).toISOString();
    out.push({ at: (time - from) / bucketMs, text: every >= 86_400_000 ? dayMonth(iso, zone) : timeOfDay(iso, zone).slice(0, 5) });
  }
  return out;
}
