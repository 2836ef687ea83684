import { useHistogram } from "../../api/deadLetters";
import type { TimeSeries } from "../../api/types";
import { bucket, count, dateMinute } from "../../lib/format";
import { stageColour } from "../../lib/stages";
import { useZone } from "../../lib/zone";
import { ColumnChart } from "../../ui/charts";
import { SkeletonRows, join } from "../../ui/Panel";
import { queryErrorOf } from "./queryError";
import styles from "./Records.module.css";

export function ErrorHistogram({ query, onNarrow }: { query: string; onNarrow: (from: string, to: string) => void }) {
  const { zone } = useZone();
  const { data, error, isPlaceholderData: isStale, fetchStatus } = useHistogram(query);
  if (queryErrorOf(error)) return null;
  if (!data || isStale) {
    if (fetchStatus === "idle")
      return (
        <p className={join("xs t3", styles.strip)}>
          {error ? `Errors over time could not be loaded: ${error.message}` : "Errors over time: not counted"}
        </p>
      );
    if (!data) return <SkeletonRows rows={1} height={51} />;
  }
  const series = data.series.map((one) => ({
    key: one.key,
    label: one.key,
    colour: stageColour(one.key),
    total: one.total,
    points: one.points,
  }));
  return (
    <div className={join(styles.strip, isStale && styles.stale)} inert={isStale}>
      <ColumnChart
        series={series}
        from={Date.parse(data.from)}
        bucketMs={data.bucket_ms}
        height={42}
        zone={zone}
        label={`Errors per ${bucket(data.bucket_ms)}`}
        onNarrow={(from, to) => onNarrow(new Date(from).toISOString(), new Date(to).toISOString())}
      />
      <div className={`xs t3 ${styles.timeBounds}`}>
        <span>{dateMinute(data.from, zone)}</span>
        <span className="cut">
          errors per {bucket(data.bucket_ms)}
          {extent(data)}; drag to narrow
        </span>
        <span>{dateMinute(data.to, zone)}</span>
      </div>
    </div>
  );
}

/** Return a note if the histogram does not count all records. */
function extent({ exact, series }: TimeSeries) {
  if (exact) return null;
  const counted = series.reduce((sum, one) => sum + one.total, 0);
  return (
    <span className="warn">, {counted > 0 ? `of the newest ${count(counted)} matching` : "not counted in 2 s"}</span>
  );
}
