import { useElementSize } from "@mantine/hooks";
import { useReplaySeries } from "../../api/replays";
import type { Replay, ReplaySeries } from "../../api/replayTypes";
import { count, timeOfDay, type Zone } from "../../lib/format";
import { leftMs } from "../../lib/outcome";
import { useZone } from "../../lib/zone";
import { Bones, Notice, Panel } from "../../ui/Panel";
import styles from "./Replays.module.css";

const HEIGHT = 216;
const MOST_AHEAD = 1; // of the time that went by: what happened keeps half of the width
const PAD = { left: 44, right: 20, top: 14, bottom: 26 };

/** Sent and settled over time; between the two lines lies what is awaited, and dots go on to where the rest will be sent at this rate. */
export function Progress({ replay, everyMs }: { replay: Replay; everyMs: number }) {
  const { zone } = useZone();
  const { data, error } = useReplaySeries(String(replay.id), everyMs);
  const rest = leftMs(replay.counts, replay.rate, replay.status);
  return (
    <Panel
      title={
        <>
          <h2>Sent and settled</h2>
          <span className={styles.keys}><i style={{ background: "var(--accent)" }} /> sent <i style={{ background: "var(--passed)" }} /> settled <i className={styles.between} /> waiting {rest !== null && <><i className={styles.dots} /> at this rate</>}</span>
        </>
      }
    >
      {error && !data ? <Notice title="The course did not come">{error.message}</Notice> : !data ? <Bones rows={5} /> : data.sent.length === 0 ? <Notice title="Nothing is sent yet" /> : <Lines series={data} total={replay.counts.total - replay.counts.skipped} rest={rest} zone={zone} />}
    </Panel>
  );
}

function Lines({ series, total, rest, zone }: { series: ReplaySeries; total: number; rest: number | null; zone: Zone }) {
  const { ref, width: measured } = useElementSize();
  const width = Math.max(280, measured || 600);
  const start = Date.parse(series.from);
  const now = Math.max(Date.parse(series.to), start + series.bucket_ms);
  const end = now + Math.min(rest ?? 0, MOST_AHEAD * (now - start));
  const top = Math.max(1, total, series.sent.at(-1) ?? 0);
  const time = (index: number) => Math.min(now, start + (index + 1) * series.bucket_ms);
  const x = (millis: number) => PAD.left + ((millis - start) / (end - start)) * (width - PAD.left - PAD.right);
  const y = (value: number) => PAD.top + (1 - value / top) * (HEIGHT - PAD.top - PAD.bottom);
  const points = (values: readonly number[]) => [[x(start), y(0)] as const, ...values.map((value, index) => [x(time(index)), y(value)] as const)];
  const path = (values: readonly (readonly [number, number])[]) => values.map(([px, py], index) => `${index ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`).join("");
  const [sent, settled] = [points(series.sent), points(series.settled)];
  const [sentNow, settledNow] = [series.sent.at(-1) ?? 0, series.settled.at(-1) ?? 0];
  const ahead = rest !== null && total > sentNow ? sentNow + ((total - sentNow) * (end - now)) / rest : null;
  const label = `${count(sentNow)} sent and ${count(settledNow)} settled of ${count(total)}, ${timeOfDay(series.from, zone)} to ${timeOfDay(series.to, zone)}`;
  const marks = [...new Set([0, Math.round(top / 3), Math.round((2 * top) / 3), top])];
  const apart = Math.abs(y(sentNow) - y(settledNow)) > 16;
  return (
    <div ref={ref} className={styles.chart}>
      <svg height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={label}>
        {marks.map((value) => (
          <g key={value}>
            <path d={`M${PAD.left} ${y(value)}H${width - PAD.right}`} stroke="var(--line)" />
            <text x={PAD.left - 8} y={y(value) + 4} textAnchor="end">{count(value)}</text>
          </g>
        ))}
        {[0, 1, 2, 3, 4].map((part) => (
          <text key={part} x={PAD.left + (part / 4) * (width - PAD.left - PAD.right)} y={HEIGHT - 8} textAnchor={part === 0 ? "start" : part === 4 ? "end" : "middle"}>
            {timeOfDay(new Date(start + (part / 4) * (end - start)).toISOString(), zone)}
          </text>
        ))}
        <path d={`${path(sent)}${path([...settled].reverse()).replace("M", "L")}Z`} fill="var(--waiting-soft)" />
        <path d={path(settled)} fill="none" stroke="var(--passed)" strokeWidth="2" strokeLinejoin="round" />
        <path d={path(sent)} fill="none" stroke="var(--accent)" strokeWidth="2" strokeLinejoin="round" />
        {ahead !== null && <path d={path([sent.at(-1)!, [x(end), y(ahead)]])} fill="none" stroke="var(--accent)" strokeWidth="1.5" strokeDasharray="2 4" data-testid="ahead" />}
        {([[sent, "var(--accent)"], [settled, "var(--passed)"]] as const).map(([line, colour]) => <circle key={colour} cx={line.at(-1)?.[0]} cy={line.at(-1)?.[1]} r="3.5" fill={colour} />)}
        <text x={(sent.at(-1)?.[0] ?? 0) - 8} y={Math.max(12, (sent.at(-1)?.[1] ?? 0) - 7)} textAnchor="end" className={styles.sentText}>{count(sentNow)} sent{!apart && `, ${count(settledNow)} settled`}</text>
        {apart && <text x={(settled.at(-1)?.[0] ?? 0) - 8} y={(settled.at(-1)?.[1] ?? 0) + 16} textAnchor="end" className={styles.settledText}>{count(settledNow)} settled</text>}
      </svg>
    </div>
  );
}
