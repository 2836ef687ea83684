import type { ReactNode } from "react";
import { useZone } from "../lib/zone";
import { ChartArea, ColumnChart, Legend, type ColumnSeries } from "./charts";
import styles from "./charts.module.css";
import { Notice, Panel, SkeletonRows } from "./Panel";

const HEIGHT = 150;

interface ChartPanelProps {
  title: string;
  note: string;
  aside?: ReactNode;
  /** The name of the panel and of its chart. */
  label: string;
  /** Undefined while the figures load. */
  data: { from: string; bucket_ms: number; series: readonly ColumnSeries[] } | undefined;
  error: Error | null;
  /** The fact that is shown if all columns are zero. */
  empty: string;
  onNarrow: (from: number, to: number) => void;
}

/** A panel with one chart over time, which fills it. Several series have a legend. */
export function ChartPanel({ title, note, aside, label, data, error, empty, onNarrow }: ChartPanelProps) {
  const { zone } = useZone();
  const series = data?.series ?? [];
  const isEmpty = series.every((one) => one.points.every((value) => value === 0));
  return (
    <Panel
      className={styles.filled}
      label={label}
      title={
        <>
          <h2>{title}</h2>
          <span className="s t3">{note}</span>
        </>
      }
      aside={aside}
    >
      {!data &&
        (error ? <Notice title="Not counted">{error.message}</Notice> : <SkeletonRows rows={1} height={HEIGHT} />)}
      {data && isEmpty && <Notice title={empty} />}
      {data && !isEmpty && (
        <>
          <ChartArea height={HEIGHT}>
            {(height) => (
              <ColumnChart
                series={series}
                from={Date.parse(data.from)}
                bucketMs={data.bucket_ms}
                height={height}
                zone={zone}
                label={label}
                axes
                onNarrow={onNarrow}
              />
            )}
          </ChartArea>
          {series.length > 1 && <Legend series={series} />}
        </>
      )}
    </Panel>
  );
}
