import { Suspense, lazy } from "react";
import { useClusters } from "../../api/clusters";
import { useNewestDeadLetter } from "../../api/deadLetters";
import type { StackBy } from "../../api/metrics";
import type { Errors } from "../../api/types";
import { recordsWith, type Field } from "../../lib/filter";
import { rangeWords } from "../../lib/ranges";
import { inSpan, spanWords, type Span } from "../../lib/span";
import { OTHERS, stageColours, shortClass } from "../../lib/stages";
import { useZone } from "../../lib/zone";
import { ChartArea, ColumnChart, Legend, type ColumnSeries } from "../../ui/charts";
import { Button } from "../../ui/controls";
import { Glyph, Notice } from "../../ui/Panel";
import { NewestRecord } from "../setup/NewestRecord";

// Shown only without any dead letter, so most first screens do not need it.
const SetupSteps = lazy(() => import("../setup/SetupSteps").then((module) => ({ default: module.SetupSteps })));

interface Props {
  data: Errors;
  by: StackBy;
  span: Span;
  onNarrow: (from: number, to: number) => void;
  onWiden: () => void;
}

/** The errors of this time as columns; the good news where there are none. */
export function ErrorColumns({ data, by, span, onNarrow, onWiden }: Props) {
  const { zone } = useZone();
  if (!data.exact) return <Notice title="Not counted: it took more than 2 s">Choose a shorter time.</Notice>;
  if (data.series.every((series) => series.total === 0)) return <NoErrors span={span} onWiden={onWiden} />;
  const series = toColumns(data, by, span);
  const beside = data.week_before?.total ? { label: "a week before", points: data.week_before.points } : undefined;
  return (
    <>
      <ChartArea height={246}>
        {(height) => (
          <ColumnChart
            series={series}
            from={Date.parse(data.from)}
            bucketMs={data.bucket_ms}
            height={height}
            zone={zone}
            label={`Errors over time, stacked by ${by}`}
            axes
            beside={beside}
            onNarrow={onNarrow}
          />
        )}
      </ChartArea>
      <Legend series={series} beside={beside} />
    </>
  );
}

function NoErrors({ span, onWiden }: { span: Span; onWiden: () => void }) {
  const { data: newest } = useNewestDeadLetter();
  const { data: clusters } = useClusters(newest === null);
  if (newest === null && clusters)
    return (
      <Suspense>
        <SetupSteps clusters={clusters} />
      </Suspense>
    );
  return (
    <Notice
      title={
        <>
          <Glyph tone="passed">✓</Glyph> No failures in {spanWords(span)}.
        </>
      }
      actions={span.narrowed && <Button onClick={() => onWiden()}>Back to {rangeWords(span.range)}</Button>}
    >
      {newest && <NewestRecord row={newest} />}
    </Notice>
  );
}

function toColumns(data: Errors, by: StackBy, span: Span): ColumnSeries[] {
  const keyed = data.series.map((one) => ({
    ...one,
    key: one.others ? "others" : one.key,
    stage: one.stage ?? (by === "stage" ? one.key : null),
  }));
  const colours = stageColours(keyed);
  return keyed.map((one) => ({
    key: one.key,
    label: by === "exception" ? shortClass(one.label ?? one.key) : (one.label ?? one.key),
    colour: one.others ? OTHERS : (colours.get(one.key) ?? OTHERS),
    total: one.total,
    points: one.points,
    ...(!one.others && one.key && { to: inSpan(recordsWith(by as Field, one.key), span) }),
  }));
}
