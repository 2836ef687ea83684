import { useSearchParams } from "react-router";
import { useConnectorHistory } from "../../api/metrics";
import type { ConnectorHistory } from "../../api/types";
import { bucket, count } from "../../lib/format";
import { narrowTo, readSpan, spanWords, widen } from "../../lib/span";
import { OTHERS, RECORD_OUTCOMES, stageColours } from "../../lib/stages";
import { ChartPanel } from "../../ui/ChartPanel";
import type { ColumnSeries } from "../../ui/charts";
import { Notice, Panel, SkeletonRows } from "../../ui/Panel";
import { TimeRangeControl } from "../../ui/TimeRangeControl";
import styles from "./Connectors.module.css";

/** The records, lag, failures and retries of one connector over time. A figure that is always zero is a sentence. */
export function ConnectorCharts({ name }: { name: string }) {
  const [params, setParams] = useSearchParams();
  const span = readSpan(params);
  const { data, error } = useConnectorHistory(name, span.from, span.to);
  const charts = data?.exact ? chartsOf(data, spanWords(span)) : [];
  const zeros = charts.filter(({ series }) => !series.some(({ points }) => points.some((value) => value > 0)));
  const shown = charts.filter((one) => !zeros.includes(one));
  return (
    <section aria-label="Charts">
      <div className={styles.range}>
        <h2>Over time</h2>
        <span className="s t3">{zeros.map(({ empty }) => `${empty}.`).join(" ")}</span>
        <span className="sp" />
        <TimeRangeControl span={span} onWiden={(range) => setParams((before) => widen(before, range))} />
      </div>
      {!data && (
        <Panel>
          {error ? <Notice title="Not counted">{error.message}</Notice> : <SkeletonRows rows={1} height={150} />}
        </Panel>
      )}
      {data && !data.exact && (
        <Panel>
          <Notice title="Not counted: it took more than 2 s">Choose a shorter time.</Notice>
        </Panel>
      )}
      <div className={styles.charts}>
        {data &&
          shown.map(({ title, note, series, total, empty, label }) => (
            <ChartPanel
              key={label}
              title={title}
              note={note}
              aside={<span className="s t3">{total}</span>}
              label={label}
              data={{ ...data, series }}
              error={error}
              empty={empty}
              onNarrow={(from, to) => setParams((before) => narrowTo(before, from, to))}
            />
          ))}
      </div>
    </section>
  );
}

interface Chart {
  title: string;
  note: string;
  label: string;
  series: ColumnSeries[];
  total: string;
  /** The sentence that replaces the chart if all columns are zero. */
  empty: string;
}

function chartsOf(data: ConnectorHistory, when: string): Chart[] {
  const per = bucket(data.bucket_ms);
  const records = data.records
    .filter((one) => one.total > 0)
    .map((one) => ({ ...one, ...(RECORD_OUTCOMES[one.key] ?? { label: one.key, colour: OTHERS }) }));
  const keyed = data.failures.map((one) => ({ ...one, stage: one.key }));
  const colours = stageColours(keyed);
  const failures = keyed.map((one) => ({ ...one, label: one.key, colour: colours.get(one.key) ?? OTHERS }));
  const wasLagKnown = data.lag.some((value) => value !== null);
  return [
    {
      title: `Records per ${per}`,
      note: "consumed, by what became of them",
      label: "Records over time",
      series: records,
      total: `${count(sum(records.map((one) => one.total)))} in all`,
      empty: `No record was consumed in ${when}`,
    },
    {
      title: "Lag",
      note: "records not consumed yet",
      label: "Lag over time",
      series: [
        single(
          "lag",
          data.lag.map((value) => value ?? 0),
        ),
      ],
      total: `${count(data.lag.at(-1))} now`,
      empty: wasLagKnown ? `No lag in ${when}` : `No lag was reported in ${when}`,
    },
    {
      title: `Failures per ${per}`,
      note: "by stage, retried ones included",
      label: "Failures over time",
      series: failures,
      total: `${count(sum(failures.map((one) => one.total)))} in all`,
      empty: `Nothing failed in ${when}`,
    },
    {
      title: `Retries per ${per}`,
      note: "operations that were tried again",
      label: "Retries over time",
      series: [single("retries", data.retries)],
      total: `${count(sum(data.retries))} in all`,
      empty: `Nothing was retried in ${when}`,
    },
  ];
}

function single(key: string, points: number[]): ColumnSeries {
  return { key, label: key, colour: "var(--put-1)", total: sum(points), points };
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}
