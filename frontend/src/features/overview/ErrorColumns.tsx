import type { StackBy } from "../../api/metrics";
import type { TimeSeries } from "../../api/types";
import { recordsWith, type Field } from "../../lib/filter";
import { paint, shortClass } from "../../lib/stages";
import { useZone } from "../../lib/zone";
import { Columns, Legend, type ColumnSeries } from "../../ui/charts";
import { Notice } from "../../ui/Panel";

export function ErrorColumns({ data, by, from }: { data: TimeSeries; by: StackBy; from: string }) {
  const { zone } = useZone();
  if (data.series.every((series) => series.total === 0)) return <Notice title="No errors in this time">Choose a longer time to see older ones.</Notice>;
  const series = toColumns(data, by, from);
  return (
    <>
      <div style={{ padding: "8px 4px 0 8px" }}>
        <Columns series={series} from={Date.parse(data.from)} bucketMs={data.bucket_ms} height={246} zone={zone} label={`Errors over time, stacked by ${by}`} axes />
      </div>
      <Legend series={series} />
    </>
  );
}

function toColumns(data: TimeSeries, by: StackBy, from: string): ColumnSeries[] {
  const keyed = data.series.map((one) => ({ ...one, stage: one.stage ?? (by === "stage" ? one.key : null) }));
  const colours = paint(keyed);
  return keyed.map((one) => ({
    key: one.key,
    label: by === "exception" ? shortClass(one.label ?? one.key) : (one.label ?? one.key),
    colour: colours.get(one.key) ?? "var(--waiting)",
    total: one.total,
    points: one.points,
    to: recordsWith(by as Field, one.key, from),
  }));
}
