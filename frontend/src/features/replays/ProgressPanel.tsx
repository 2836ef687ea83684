import { useElementSize } from "@mantine/hooks";
import { useReplaySeries } from "../../api/replays";
import type { Replay, ReplaySeries } from "../../api/replayTypes";
import { count, timeOfDay, type Zone } from "../../lib/format";
import { remainingMs, sentCount, settledCount } from "../../lib/outcome";
import { useZone } from "../../lib/zone";
import { SkeletonRows, Notice, Panel } from "../../ui/Panel";
import styles from "./Replays.module.css";

const HEIGHT = 216;
const MAX_FORECAST_SHARE = 1; // of the elapsed time, so that the past keeps at least half of the width
const PAD = { left: 44, right: 20, top: 24, bottom: 26 };
const CHARACTER_PX = 6.6; // the widest character of a label
const TIME_LABEL_PX = 90; // a label and its gap

/** Sent and settled records over time. The area between the lines is waiting; dots forecast the rest at the present rate. */
export function ProgressPanel({ replay, everyMs }: { replay: Replay; everyMs: number }) {
  const { zone } = useZone();
  const { data, error } = useReplaySeries(String(replay.id), everyMs);
  const rest = remainingMs(replay.counts, replay.rate, replay.status);
  return (
    <Panel
      title={
        <>
          <h2>Sent and settled</h2>
          <span className={styles.legend}>
            <i style={{ background: "var(--accent)" }} /> sent <i style={{ background: "var(--passed)" }} /> settled{" "}
            <i className={styles.waitingArea} /> waiting{" "}
            {rest !== null && (
              <>
                <i className={styles.dots} /> at this rate
              </>
            )}
          </span>
        </>
      }
    >
      {error && !data ? (
        <Notice title="The chart could not be loaded">{error.message}</Notice>
      ) : !data ? (
        <SkeletonRows rows={5} />
      ) : data.sent.length === 0 ? (
        <Notice title="Nothing is sent yet" />
      ) : (
        <ProgressChart
          series={withCounts(data, replay.counts)}
          total={replay.counts.total - replay.counts.skipped}
          rest={rest}
          zone={zone}
        />
      )}
    </Panel>
  );
}

/** Return the series with the replay's present counts as its last point, so that the chart agrees with them. */
function withCounts(series: ReplaySeries, counts: Replay["counts"]): ReplaySeries {
  return {
    ...series,
    sent: [...series.sent.slice(0, -1), sentCount(counts)],
    settled: [...series.settled.slice(0, -1), settledCount(counts)],
  };
}

function ProgressChart({
  series,
  total,
  rest,
  zone,
}: {
  series: ReplaySeries;
  total: number;
  rest: number | null;
  zone: Zone;
}) {
  const { ref, width: measured } = useElementSize();
  const width = Math.max(280, measured || 600);
  const start = Date.parse(series.from);
  const now = Math.max(Date.parse(series.to), start + series.bucket_ms);
  const end = now + Math.min(rest ?? 0, MAX_FORECAST_SHARE * (now - start));
  const top = Math.max(1, total, series.sent.at(-1) ?? 0);
  const time = (index: number) => Math.min(now, start + (index + 1) * series.bucket_ms);
  const y = (value: number) => PAD.top + (1 - value / top) * (HEIGHT - PAD.top - PAD.bottom);
  const points = (values: readonly number[]) => [
    [x(start), y(0)] as const,
    ...values.map((value, index) => [x(time(index)), y(value)] as const),
  ];
  const path = (values: readonly (readonly [number, number])[]) =>
    values.map(([px, py], index) => `${index ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`).join("");
  const [sentNow, settledNow] = [series.sent.at(-1) ?? 0, series.settled.at(-1) ?? 0];
  const apart = Math.abs(y(sentNow) - y(settledNow)) > 16;
  const settledText = `${count(settledNow)} settled`;
  const ahead = rest !== null && total > sentNow ? sentNow + ((total - sentNow) * (end - now)) / rest : null;
  // The label of the settled line stands to its right, so the axis must leave room for it.
  const room = apart ? 8 + CHARACTER_PX * settledText.length : 0;
  const past = (now - start) / (end - start);
  const left = Math.max(PAD.left, 14 + CHARACTER_PX * count(top).length);
  const right = Math.max(PAD.right, (room - (1 - past) * (width - left)) / past);
  const x = (millis: number) => left + ((millis - start) / (end - start)) * (width - left - right);
  const [sent, settled] = [points(series.sent), points(series.settled)];
  const label = `${count(sentNow)} sent and ${count(settledNow)} settled of ${count(total)}, ${timeOfDay(series.from, zone)} to ${timeOfDay(series.to, zone)}`;
  const marks = [...new Set([0, Math.round(top / 3), Math.round((2 * top) / 3), top])];
  return (
    <div ref={ref} className={styles.chart}>
      <svg height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={label}>
        {marks.map((value) => (
          <g key={value}>
            <path d={`M${left} ${y(value)}H${width - PAD.right}`} stroke="var(--line)" />
            <text x={left - 8} y={y(value) + 4} textAnchor="end">
              {count(value)}
            </text>
          </g>
        ))}
        {(width - left - right < 4 * TIME_LABEL_PX ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1]).map((part) => (
          <text
            key={part}
            x={x(start + part * (end - start))}
            y={HEIGHT - 8}
            textAnchor={part === 0 ? "start" : part === 1 ? "end" : "middle"}
          >
            {timeOfDay(new Date(start + part * (end - start)).toISOString(), zone)}
          </text>
        ))}
        <path d={`${path(sent)}${path([...settled].reverse()).replace("M", "L")}Z`} fill="var(--waiting-soft)" />
        <path d={path(settled)} fill="none" stroke="var(--passed)" strokeWidth="2" strokeLinejoin="round" />
        <path d={path(sent)} fill="none" stroke="var(--accent)" strokeWidth="2" strokeLinejoin="round" />
        {ahead !== null && (
          <path
            d={path([sent.at(-1)!, [x(end), y(ahead)]])}
            fill="none"
            stroke="var(--accent)"
            strokeWidth="1.5"
            strokeDasharray="2 4"
            data-testid="ahead"
          />
        )}
        {(
          [
            [sent, "var(--accent)"],
            [settled, "var(--passed)"],
          ] as const
        ).map(([line, colour]) => (
          <circle key={colour} cx={line.at(-1)?.[0]} cy={line.at(-1)?.[1]} r="3.5" fill={colour} />
        ))}
        <text x={x(now) - 8} y={y(sentNow) - 8} textAnchor="end" className={styles.sentText}>
          {count(sentNow)} sent{!apart && `, ${settledText}`}
        </text>
        {apart && (
          <text x={x(now) + 8} y={y(settledNow) + 4} className={styles.settledText}>
            {settledText}
          </text>
        )}
      </svg>
    </div>
  );
}
