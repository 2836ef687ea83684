import { useSearchParams } from "react-router";
import { useHistogram } from "../../api/deadLetters";
import { useTopicRates } from "../../api/topics";
import type { TopicDetail } from "../../api/types";
import { bucket, count, plural } from "../../lib/format";
import { narrowTo, readSpan, spanWords, widen, type Span } from "../../lib/span";
import { OTHERS, stageColours } from "../../lib/stages";
import { ChartPanel } from "../../ui/ChartPanel";
import { TimeRangeControl } from "../../ui/TimeRangeControl";
import styles from "./Topics.module.css";

/** How many records were written to the topic, and how many failed, over time. */
export function TopicCharts({ topic }: { topic: TopicDetail }) {
  const [params, setParams] = useSearchParams();
  const span = readSpan(params);
  const narrow = (from: number, to: number) => setParams((before) => narrowTo(before, from, to));
  return (
    <div className={styles.overTime}>
      <div className={styles.range}>
        <TimeRangeControl span={span} onWiden={(range) => setParams((before) => widen(before, range))} />
      </div>
      <div className={styles.charts}>
        <WrittenOffsets name={topic.name} span={span} onNarrow={narrow} />
        <DeadLetters topic={topic} span={span} onNarrow={narrow} />
      </div>
    </div>
  );
}

interface ChartProps {
  span: Span;
  onNarrow: (from: number, to: number) => void;
}

function WrittenOffsets({ name, span, onNarrow }: { name: string } & ChartProps) {
  const [params] = useSearchParams();
  const { data, error } = useTopicRates(name, params.get("cluster") ?? "", span.from, span.to);
  const series = data && [
    { key: "written", label: "written", colour: "var(--put-1)", total: data.total, points: data.points },
  ];
  return (
    <ChartPanel
      title={data ? `Written per ${bucket(data.bucket_ms)}` : "Written"}
      note="offsets, by the times of the records"
      aside={data && <span className="s t3">{count(data.total)} in all</span>}
      label="Offsets written over time"
      data={data && series && { ...data, series }}
      error={error}
      empty={`Nothing that Kafka keeps was written in ${spanWords(span)}`}
      onNarrow={onNarrow}
    />
  );
}

function DeadLetters({ topic, span, onNarrow }: { topic: TopicDetail } & ChartProps) {
  const field = topic.is_dead_letter_topic ? "topic" : "origin_topic";
  const query = new URLSearchParams({ [field]: topic.name, from: span.from, to: span.to });
  const { data, error } = useHistogram(query.toString());
  const keyed = data?.series.map((one) => ({ ...one, stage: one.key })) ?? [];
  const colours = stageColours(keyed);
  const series = keyed.map((one) => ({ ...one, label: one.key, colour: colours.get(one.key) ?? OTHERS }));
  const total = series.reduce((sum, one) => sum + one.total, 0);
  return (
    <ChartPanel
      title={data ? `Dead letters per ${bucket(data.bucket_ms)}` : "Dead letters"}
      note="by stage, at the time of the failure"
      aside={
        data && <span className="s t3">{data.exact ? plural(total, "dead letter") : `at least ${count(total)}`}</span>
      }
      label="Dead letters over time"
      data={data && { ...data, series }}
      error={error}
      empty={`No record of it failed in ${spanWords(span)}`}
      onNarrow={onNarrow}
    />
  );
}
