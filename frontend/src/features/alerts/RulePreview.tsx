import { useState } from "react";
import type { ConditionKind, useAlertPreview, AlertPreview } from "../../api/alerts";
import type { Channel } from "../../api/channels";
import { bucket, dateMinute, plural } from "../../lib/format";
import { stageColours } from "../../lib/stages";
import { useZone } from "../../lib/zone";
import { ColumnChart, Legend, type ChartMark } from "../../ui/charts";
import { LinkButton } from "../../ui/controls";
import { SkeletonRows } from "../../ui/Panel";
import styles from "./Alerts.module.css";
import { EditorSection } from "./EditorSection";
import type { RuleDraft } from "./ruleDraft";

const LISTED = 8;

/** When the unsaved rule would have fired in the last seven days, and which channels it would have told. */
export function RulePreview({
  preview,
  draft,
  channels,
  kinds,
  isChanged,
  missing,
  isWaiting,
}: {
  preview: ReturnType<typeof useAlertPreview>;
  draft: RuleDraft;
  channels: readonly Channel[];
  kinds: readonly ConditionKind[];
  isChanged: boolean;
  /** What must be entered before there is a preview. */
  missing: string | undefined;
  /** Whether the shown preview is of an earlier draft. */
  isWaiting: boolean;
}) {
  const { data, error, isFetching } = preview;
  return (
    <EditorSection title="Preview">
      {missing ? (
        <p className={styles.matches}>{missing}.</p>
      ) : error && !isWaiting ? (
        <p className="s failed" role="alert">
          No preview: {error.message}
        </p>
      ) : !data ? (
        <SkeletonRows rows={4} />
      ) : (
        <div aria-busy={isWaiting || isFetching} className={isWaiting || isFetching ? styles.stale : undefined}>
          <div className={styles.line}>
            <b>Would have fired {data.times === 0 ? "never" : plural(data.times, "time")} in the last 7 days</b>
            <span className="t3" role="status">
              {isWaiting || isFetching ? "computing…" : isChanged ? "with the unsaved changes" : ""}
            </span>
          </div>
          {data.partial && (
            <p className="s warn">The search reached its time limit, so older firings may be missing.</p>
          )}
          {data.unknown.length > 0 && (
            <p className={styles.matches}>
              Not included, because their past is not known: {namesOf(data.unknown, kinds)}.
            </p>
          )}
          <PreviewChart preview={data} />
          <Firings preview={data} draft={draft} channels={channels} />
        </div>
      )}
    </EditorSection>
  );
}

function PreviewChart({ preview }: { preview: AlertPreview }) {
  const { zone } = useZone();
  const colours = stageColours(preview.series.map(({ stage }) => ({ key: stage, stage })));
  const series = preview.series.map(({ stage, points }) => ({
    key: stage,
    label: stage || "unknown stage",
    colour: colours.get(stage) ?? "var(--others)",
    total: points.reduce((sum, one) => sum + one, 0),
    points,
  }));
  if (series.length === 0)
    return <p className={styles.matches}>The filter matches no dead letter of the last 7 days.</p>;
  const marks: ChartMark[] = numbered(preview)
    .map(({ number, firing }) => ({
      key: String(number),
      letter: String(number),
      title: firing.title,
      at: Date.parse(firing.at),
      until: null,
    }))
    .reverse();
  return (
    <div className={styles.chart}>
      <ColumnChart
        series={series}
        from={Date.parse(preview.start)}
        bucketMs={preview.bucket_ms}
        height={120}
        zone={zone}
        label={`Matching dead letters per ${bucket(preview.bucket_ms)}, with the times at which the rule would have fired`}
        axes
        marks={marks}
      />
      <Legend series={series} />
    </div>
  );
}

function Firings({
  preview,
  draft,
  channels,
}: {
  preview: AlertPreview;
  draft: RuleDraft;
  channels: readonly Channel[];
}) {
  const { zone } = useZone();
  const [all, setAll] = useState(false);
  const rows = numbered(preview);
  if (rows.length === 0) return null;
  return (
    <>
      <ol className={styles.firings} aria-label="Firings">
        {(all ? rows : rows.slice(0, LISTED)).map(({ number, firing }) => (
          <li key={number}>
            <span className="mono t2 nw">
              {number} {dateMinute(firing.at, zone)}
            </span>
            <span className={styles.firing}>{firing.title}</span>
            <span className="t3">{toldWords(draft, channels, firing.held)}</span>
          </li>
        ))}
      </ol>
      {rows.length > LISTED && !all && (
        <LinkButton onClick={() => setAll(true)}>
          {preview.times > rows.length ? `Show the newest ${rows.length}` : `Show all ${rows.length}`}
        </LinkButton>
      )}
    </>
  );
}

/** Return the firings, newest first, with their numbers; the oldest has the number 1. */
function numbered({ times, firings }: AlertPreview) {
  return firings.map((firing, index) => ({ number: times - index, firing }));
}

/** Return which channels would have been told at once, and which after the quiet hours. */
export function toldWords(draft: RuleDraft, channels: readonly Channel[], held: readonly number[]): string {
  const name = (id: number) => channels.find((one) => one.id === id)?.name ?? "a channel";
  const all = draft.tells.map(({ channel }) => channel);
  const later = all.filter((id) => held.includes(id));
  const once = all.filter((id) => !held.includes(id));
  if (all.length === 0) return "nobody told";
  if (later.length === 0) return all.length === 1 ? `${name(all[0]!)} at once` : "all channels at once";
  const end = draft.quiet ? `at ${draft.quiet.end}` : "later";
  return [once.length > 0 && `${once.map(name).join(", ")} at once`, `${later.map(name).join(", ")} ${end}`]
    .filter(Boolean)
    .join("; ");
}

function namesOf(unknown: readonly string[], kinds: readonly ConditionKind[]): string {
  return unknown
    .map((kind) => kinds.find((one) => one.kind === kind)?.text.replace(/\{\w+\}/g, "…") ?? kind)
    .join("; ");
}
