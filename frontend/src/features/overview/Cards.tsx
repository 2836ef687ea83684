import type { UseQueryResult } from "@tanstack/react-query";
import { Fragment } from "react";
import { Link } from "react-router";
import type { Summary } from "../../api/types";
import { recordsWith } from "../../lib/filter";
import { count } from "../../lib/format";
import { inSpan, withSpan, type Span } from "../../lib/span";
import { Sparkline } from "../../ui/charts";
import { SkeletonRows, Chip, Notice, Panel } from "../../ui/Panel";
import styles from "./Overview.module.css";

/** The figures of this time, each leading to what it counts. */
export function Cards({ answer: { data, error }, span }: { answer: UseQueryResult<Summary>; span: Span }) {
  if (!data && error)
    return (
      <Panel className={styles.gap}>
        <Notice title="The figures could not be loaded">{error.message}</Notice>
      </Panel>
    );
  return (
    <div className={styles.cards}>
      <Panel>
        {data ? <FailingTopics topics={data.failing_topics} span={span} /> : <SkeletonRows rows={2} height={30} />}
      </Panel>
      <Panel>
        {data ? <Unresolved groups={data.unresolved_groups} span={span} /> : <SkeletonRows rows={2} height={30} />}
      </Panel>
      <Panel>{data ? <Errors errors={data.errors_24h} /> : <SkeletonRows rows={2} height={30} />}</Panel>
      <Panel>{data ? <FailingAgain replays={data.replays} /> : <SkeletonRows rows={2} height={30} />}</Panel>
    </div>
  );
}

function FailingTopics({ topics, span }: { topics: Summary["failing_topics"]; span: Span }) {
  const quiet = topics.watched - topics.count;
  return (
    <div className={styles.card}>
      <div className="s t2">Failing topics</div>
      <div className={styles.big}>
        {!topics.exact && <small>at least </small>}
        {count(topics.count)} <small>of {count(topics.watched)} watched</small>
      </div>
      <div className="s t3 cut" style={{ marginTop: 5 }}>
        {topics.names.length === 0 && "No dead letters in this time"}
        {topics.names.map((name, index) => (
          <Fragment key={name}>
            {index > 0 && ", "}
            <Link to={inSpan(recordsWith("origin_topic", name), span)}>{name}</Link>
          </Fragment>
        ))}
        {topics.exact &&
          topics.names.length > 0 &&
          quiet > 0 &&
          `; ${quiet === 1 ? "the other one is" : `the other ${quiet} are`} quiet`}
      </div>
    </div>
  );
}

function Unresolved({ groups, span }: { groups: { count: number; new: number; regressed: number }; span: Span }) {
  const ongoing = groups.count - groups.new - groups.regressed;
  return (
    <Link to={withSpan("/groups", span)} className={styles.card}>
      <div className="s t2">Unresolved groups</div>
      <div className="row">
        <span className={styles.big}>{count(groups.count)}</span>
        <span className="sp" />
        {groups.new > 0 && <Chip tone="failed">✕ {count(groups.new)}</Chip>}
        {groups.regressed > 0 && <Chip tone="failed">↺ {count(groups.regressed)}</Chip>}
      </div>
      <div className="s t3 cut" style={{ marginTop: 5 }}>
        {count(groups.new)} new, {count(groups.regressed)} regressed, {count(ongoing)} ongoing
      </div>
    </Link>
  );
}

function Errors({
  errors,
}: {
  errors: { count: number; mean_before: number | null; change_percent: number | null; days: number[] };
}) {
  const { change_percent: change, mean_before: mean } = errors;
  return (
    <div className={styles.card}>
      <div className="s t2">Errors in 24 h</div>
      <div className="row">
        <Link to="/records?from=now-24h" className={styles.big} style={{ color: "inherit" }}>
          {count(errors.count)}
        </Link>
        <span className="sp" />
        <Sparkline
          points={errors.days}
          colour="var(--put-1)"
          width={84}
          label={`Errors a day: ${errors.days.join(", ")}`}
        />
      </div>
      <div className="s t3 cut" style={{ marginTop: 5 }}>
        {change === null ? (
          "No errors in the 6 days before to compare with"
        ) : (
          <>
            <b className={change > 0 ? "failed" : "passed"}>
              {change > 0 ? "+" : change < 0 ? "−" : ""}
              {Math.abs(Math.round(change))} %
            </b>{" "}
            on the mean of the 6 days before ({mean?.toFixed(1)})
          </>
        )}
      </div>
    </div>
  );
}

function FailingAgain({ replays }: { replays: Summary["replays"] }) {
  const { started, failing, newest } = replays;
  return (
    <Link to={newest ? `/replays/${newest.id}` : "/replays"} className={styles.card}>
      <div className="s t2">Replays failing again</div>
      <div className={styles.big}>
        {count(failing)} <small>of {count(started)} started</small>
      </div>
      <div className="s t3 cut" style={{ marginTop: 5 }}>
        {newest
          ? `${newest.name}: ${count(newest.sent)} sent, ${count(newest.passed)} passed, ${count(newest.failed_again)} failed again`
          : started > 0
            ? "No record of them failed again"
            : "No replay was started in this time"}
      </div>
    </Link>
  );
}
