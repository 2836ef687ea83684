import { useHistogram } from "../../api/deadLetters";
import { bucket, dateMinute } from "../../lib/format";
import { stageColour } from "../../lib/stages";
import { useZone } from "../../lib/zone";
import { Columns } from "../../ui/charts";
import { Bones } from "../../ui/Panel";
import styles from "./Records.module.css";

export function TimeStrip({ query, onNarrow }: { query: string; onNarrow: (from: string, to: string) => void }) {
  const { zone } = useZone();
  const { data, isError } = useHistogram(query);
  if (isError) return null;
  if (!data) return <Bones rows={1} height={40} />;
  const series = data.series.map((one) => ({ key: one.key, label: one.label ?? one.key, colour: stageColour(one.key), total: one.total, points: one.points }));
  return (
    <div className={styles.strip}>
      <Columns
        series={series}
        from={Date.parse(data.from)}
        bucketMs={data.bucket_ms}
        height={42}
        zone={zone}
        label={`Errors per ${bucket(data.bucket_ms)}`}
        onNarrow={(from, to) => onNarrow(new Date(from).toISOString(), new Date(to).toISOString())}
      />
      <div className={`xs t3 ${styles.ends}`}>
        <span>{dateMinute(data.from, zone)}</span>
        <span className="cut">errors per {bucket(data.bucket_ms)}; drag to narrow</span>
        <span>{dateMinute(data.to, zone)}</span>
      </div>
    </div>
  );
}
