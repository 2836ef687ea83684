import { Link, useSearchParams } from "react-router";
import { useOpenWork, type WorkSplit } from "../../api/metrics";
import type { OpenWork, Summary } from "../../api/types";
import { recordsOf, recordsWith, type Field } from "../../lib/filter";
import { count } from "../../lib/format";
import { ALL_TIME } from "../../lib/ranges";
import type { Span } from "../../lib/span";
import { stageColours } from "../../lib/stages";
import { WORK_STATES, allWork, type WorkState } from "../../lib/work";
import { useZone } from "../../lib/zone";
import chartStyles from "../../ui/charts.module.css";
import { ChartArea, ColumnChart, Legend, type ColumnSeries } from "../../ui/charts";
import { Choice } from "../../ui/controls";
import { Notice, Panel, SkeletonRows, join } from "../../ui/Panel";
import { WorkSwatch } from "../../ui/WorkBar";
import styles from "./OpenWork.module.css";

const SPLITS: readonly { value: "state" | WorkSplit; label: string }[] = [
  { value: "state", label: "state" },
  { value: "group", label: "group" },
  { value: "stage", label: "stage" },
  { value: "topic", label: "topic" },
];

/** The number of dead letters that are left to repair: now, a day ago, and over time. */
export function OpenWorkPanel({
  summary,
  span,
  onNarrow,
}: {
  summary: Summary | undefined;
  span: Span;
  onNarrow: (from: number, to: number) => void;
}) {
  const [params, setParams] = useSearchParams();
  const chosen = SPLITS.find(({ value }) => value === params.get("work"))?.value ?? "state";
  const answer = useOpenWork(span.from, span.to, chosen === "state" ? null : chosen);
  const { data, error } = answer;
  const choose = (value: string) =>
    setParams((before) => new URLSearchParams([...[...before].filter(([name]) => name !== "work"), ["work", value]]));
  const work = summary?.work;
  return (
    <Panel
      className={chartStyles.filled}
      label="Open work"
      title={
        <>
          <h2>Open work</h2>
          {work && (
            <span className={join("s t3", styles.optional)} data-testid="work-sum">
              {WORK_STATES.map(({ state }) => count(work[state])).join(" + ")} = {count(allWork(work))} dead letters
            </span>
          )}
        </>
      }
      aside={
        <>
          <span className="s t3">show by</span>
          <Choice label="Show open work by" value={chosen} options={SPLITS} onChange={choose} />
        </>
      }
    >
      <div className={styles.figuresBox}>
        {work ? <WorkFigures work={work} /> : <SkeletonRows rows={2} height={22} />}
      </div>
      {data ? (
        <WorkChart data={data} by={chosen} onNarrow={onNarrow} />
      ) : error ? (
        <Notice title="The open work could not be loaded">{error.message}</Notice>
      ) : (
        <SkeletonRows rows={1} height={300} />
      )}
    </Panel>
  );
}

function WorkFigures({ work }: { work: Summary["work"] }) {
  const notes: Record<WorkState, string> = {
    open: `${count(work.open_day_ago)} a day ago, ${count(work.new_24h)} new since`,
    replaying: "queued, sent or unknown",
    passed: `${count(work.passed_24h)} in the last 24 h`,
    set_aside: `${count(work.set_aside_24h)} in the last 24 h`,
  };
  return (
    <div className={styles.figures}>
      {WORK_STATES.map(({ state, label, tone }) => (
        <Link key={state} to={recordsWith("work", state, ALL_TIME)} className={styles.figure}>
          <WorkSwatch state={state} />
          <span>
            <span className={styles.number}>
              <b className={join(work[state] > 0 && tone !== "plain" ? tone : "t2", state === "open" && styles.most)}>
                {count(work[state])}
              </b>{" "}
              {label}
            </span>
            <span className="s t3">{notes[state]}</span>
          </span>
        </Link>
      ))}
    </div>
  );
}

function WorkChart({
  data,
  by,
  onNarrow,
}: {
  data: OpenWork;
  by: "state" | WorkSplit;
  onNarrow: (from: number, to: number) => void;
}) {
  const { zone } = useZone();
  if (!data.exact) return <Notice title="Not counted: it took more than 2 s">Choose a shorter time.</Notice>;
  const series = by === "state" ? statesOf(data) : splitOf(data, by);
  return (
    <>
      <ChartArea height={270}>
        {(height) => (
          <ColumnChart
            series={series}
            from={Date.parse(data.from)}
            bucketMs={data.bucket_ms}
            height={height}
            zone={zone}
            label={`Open work at the end of each column, by ${by}`}
            axes
            onNarrow={onNarrow}
          />
        )}
      </ChartArea>
      <Legend series={series} />
    </>
  );
}

/** Return what is left to repair: open and replaying dead letters. */
function statesOf(data: OpenWork): ColumnSeries[] {
  const colours = { open: "var(--failed)", replaying: "var(--waiting)" };
  return (["open", "replaying"] as const).map((state) => ({
    key: state,
    label: state === "open" ? "open" : "being replayed",
    colour: colours[state],
    total: data[state].at(-1) ?? 0,
    points: data[state],
    to: recordsWith("work", state, ALL_TIME),
  }));
}

function splitOf(data: OpenWork, by: WorkSplit): ColumnSeries[] {
  const keyed = data.series.map((one) => ({ ...one, key: one.others ? "others" : one.key }));
  const colours = stageColours(keyed);
  return keyed.map((one) => ({
    key: one.key,
    label: one.label || one.key,
    colour: one.others ? "var(--waiting)" : (colours.get(one.key) ?? "var(--waiting)"),
    total: one.total,
    points: one.points,
    ...(!one.others && one.key && { to: recordsOf({ [by as Field]: one.key, work: "open" }, ALL_TIME) }),
  }));
}
