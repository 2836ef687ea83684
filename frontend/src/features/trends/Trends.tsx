import { useState } from "react";
import { useSearchParams } from "react-router";
import { useAnnotations, useTrends, type TrendMeasure, type TrendSplit } from "../../api/metrics";
import type { Trends as TrendSeries } from "../../api/types";
import { bucket, count } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { LONG_RANGES } from "../../lib/ranges";
import { narrowTo, readSpan, spanWords, widen } from "../../lib/span";
import { useZone } from "../../lib/zone";
import { ChartArea, ColumnChart, Legend } from "../../ui/charts";
import chartStyles from "../../ui/charts.module.css";
import { Button, Choice } from "../../ui/controls";
import { Notice, PageHead, Panel, SkeletonRows } from "../../ui/Panel";
import { RefreshError } from "../../ui/RefreshError";
import { TimeRangeControl } from "../../ui/TimeRangeControl";
import { useTitle } from "../../ui/useTitle";
import { AnnotationRows } from "./AnnotationRows";
import { SubjectPicker } from "./SubjectPicker";
import styles from "./Trends.module.css";
import { FILTERS, toColumns, toMarks, type TrendFilter } from "./columns";

const MEASURES = [
  { value: "errors", label: "errors" },
  { value: "throughput", label: "throughput" },
  { value: "lag", label: "lag" },
] as const satisfies readonly { value: TrendMeasure; label: string }[];
const SPLITS = (["none", "topic", "connector", "group", "stage"] as const).map((value) => ({
  value,
  label: value === "none" ? "all" : value,
}));
const TASK_SPLITS: readonly TrendSplit[] = ["none", "connector"];
const NOTES: Record<TrendMeasure, string> = {
  errors: "dead letters",
  throughput: "records consumed",
  lag: "records not consumed yet, the highest of each column",
};
const HEIGHT = 320;

/** Shows errors, throughput and lag over months, the week before, and the events that may explain a change. */
export function Trends() {
  const [params, setParams] = useSearchParams();
  const [marked, setMarked] = useState<string | null>(null);
  const span = readSpan(params);
  const measure = MEASURES.find((one) => one.value === params.get("measure"))?.value ?? "errors";
  const splits = SPLITS.filter((one) => measure === "errors" || TASK_SPLITS.includes(one.value));
  const by = splits.find((one) => one.value === params.get("by"))?.value ?? "none";
  const filter = Object.fromEntries(FILTERS.map((name) => [name, params.get(name) ?? ""])) as TrendFilter;
  const unreported = FILTERS.filter((name) => filter[name] && measure !== "errors" && name !== "connector");
  const answer = useTrends({ measure, by, from: span.from, to: span.to, ...filter }, unreported.length === 0);
  const annotations = useAnnotations(span.from, span.to);
  const { data, error } = answer;
  const marks = toMarks(annotations.data?.results ?? []);
  const choose = (name: string, value: string) =>
    setParams((before) => {
      const next = new URLSearchParams(before);
      if (value) next.set(name, value);
      else next.delete(name);
      return next;
    });
  const wide = (range?: Parameters<typeof widen>[1]) => setParams((before) => widen(before, range));
  useTitle("Trends");
  useKeys(span.narrowed ? { Escape: () => wide() } : {});
  return (
    <>
      <PageHead title="Trends" note={`Columns of hours or days, with the week before, over ${spanWords(span)}.`}>
        <TimeRangeControl span={span} ranges={LONG_RANGES} onWiden={wide} />
      </PageHead>
      {answer.isError && data && (
        <RefreshError error={answer.error} at={answer.dataUpdatedAt} onAgain={() => void answer.refetch()} />
      )}
      <div className={styles.panels}>
        <Panel
          className={chartStyles.filled}
          label="Trend"
          title={
            <>
              <h2>{titleOf(measure, data)}</h2>
              <span className="s t3">{NOTES[measure]}; drag to narrow the time</span>
            </>
          }
          aside={
            <>
              <Choice
                label="Measure"
                value={measure}
                options={MEASURES}
                onChange={(value) => choose("measure", value)}
              />
              <Choice label="Split by" value={by} options={splits} onChange={(value) => choose("by", value)} />
            </>
          }
        >
          <SubjectPicker filter={filter} onChoose={choose} />
          {unreported.length > 0 ? (
            <Notice
              title={`Tasks do not report ${measure} by ${unreported.join(" or ")}.`}
              actions={<Button onClick={() => choose("measure", "errors")}>Show errors</Button>}
            />
          ) : data ? (
            <TrendColumns
              data={data}
              filter={filter}
              marks={marks}
              marked={marked}
              onNarrow={(from, to) => setParams((before) => narrowTo(before, from, to))}
            />
          ) : error ? (
            <Notice title="Not counted" actions={<Button onClick={() => void answer.refetch()}>Try again</Button>}>
              {error.message}
            </Notice>
          ) : (
            <SkeletonRows rows={1} height={HEIGHT} />
          )}
        </Panel>
        <AnnotationRows answer={annotations} marks={marks} onMark={setMarked} />
      </div>
    </>
  );
}

function TrendColumns({
  data,
  filter,
  marks,
  marked,
  onNarrow,
}: {
  data: TrendSeries;
  filter: TrendFilter;
  marks: ReturnType<typeof toMarks>;
  marked: string | null;
  onNarrow: (from: number, to: number) => void;
}) {
  const { zone } = useZone();
  const [params] = useSearchParams();
  const span = readSpan(params);
  if (!data.exact) return <Notice title="Not counted: it took more than 2 s">Choose a shorter time.</Notice>;
  const before = data.week_before;
  if (data.series.length === 0 && !before?.total)
    return <Notice title={`No ${data.measure === "lag" ? "lag" : data.measure} in ${spanWords(span)}`} />;
  const series = toColumns(data, filter, span);
  const beside = before?.total ? { label: "a week before", points: before.points } : undefined;
  return (
    <>
      <ChartArea height={HEIGHT}>
        {(height) => (
          <ColumnChart
            series={series}
            from={Date.parse(data.from)}
            bucketMs={data.bucket_ms}
            height={height}
            zone={zone}
            label={`${titleOf(data.measure, data)}${data.by === "none" ? "" : `, stacked by ${data.by}`}`}
            axes
            beside={beside}
            marks={marks}
            marked={marked}
            onNarrow={onNarrow}
          />
        )}
      </ChartArea>
      <Legend series={series} beside={beside} besideTotal={before?.total} />
    </>
  );
}

function titleOf(measure: TrendMeasure, data: TrendSeries | undefined): string {
  if (measure === "lag") return data ? `Lag, up to ${count(data.total)}` : "Lag";
  const name = measure === "errors" ? "Errors" : "Records";
  return data ? `${name} per ${bucket(data.bucket_ms)}` : name;
}
