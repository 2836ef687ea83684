import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "react-router";
import type { Heat } from "../../api/types";
import { recordsOf, recordsWith } from "../../lib/filter";
import { bucket, count, plural } from "../../lib/format";
import { ALL_TIME } from "../../lib/ranges";
import { inSpan, type Span } from "../../lib/span";
import { useZone } from "../../lib/zone";
import { HeatMap } from "../../ui/HeatMap";
import { SkeletonRows, Notice, Panel } from "../../ui/Panel";
import styles from "./Overview.module.css";

/** Which topic failed when, beside the same time a week before. */
export function TopicHeat({
  answer: { data, error },
  span,
  onNarrow,
}: {
  answer: UseQueryResult<Heat>;
  span: Span;
  onNarrow: (from: number, to: number) => void;
}) {
  const { zone } = useZone();
  const left = data ? data.topics - data.rows.length : 0;
  return (
    <Panel
      className={styles.gap}
      title={
        <>
          <h2>{data ? `Dead letter topics by ${bucket(data.bucket_ms)}` : "Dead letter topics"}</h2>
          <span className="s t3">darker cells mean more errors; all rows share one scale</span>
        </>
      }
      aside={left > 0 ? <span className="s t3">{plural(left, "more topic")} with fewer</span> : undefined}
    >
      {!data &&
        (error ? <Notice title="The counts could not be loaded">{error.message}</Notice> : <SkeletonRows rows={2} />)}
      {data && !data.exact && <Notice title="Not counted: it took more than 2 s">Choose a shorter time.</Notice>}
      {data?.exact && data.rows.length === 0 && (
        <Notice title="No topic has dead letters in this time">A longer time may have older ones.</Notice>
      )}
      {data && data.rows.length > 0 && (
        <HeatMap
          rows={data.rows.map((row) => ({
            key: row.topic,
            label: row.topic,
            to: inSpan(recordsWith("topic", row.topic), span),
            points: row.points,
            notes: [
              <b key="total">{count(row.total)}</b>,
              <Open key="open" topic={row.topic} open={row.open} />,
              <Change key="change" now={row.total} before={row.week_before} />,
            ],
          }))}
          heads={["errors", "open now", "a week before"]}
          from={Date.parse(data.from)}
          bucketMs={data.bucket_ms}
          zone={zone}
          label="Errors by dead letter topic over time"
          onNarrow={onNarrow}
        />
      )}
    </Panel>
  );
}

function Open({ topic, open }: { topic: string; open: number }) {
  if (open === 0) return <span className="t3">0</span>;
  return <Link to={recordsOf({ topic, work: "open" }, ALL_TIME)}>{count(open)}</Link>;
}

function Change({ now, before }: { now: number; before: number }) {
  if (before === 0) return <span className="t3">none</span>;
  const change = Math.round((100 * (now - before)) / before);
  return (
    <>
      {count(before)}{" "}
      <span className={change > 0 ? "failed" : "t3"}>
        {change > 0 ? "+" : change < 0 ? "−" : "±"}
        {count(Math.abs(change))} %
      </span>
    </>
  );
}
