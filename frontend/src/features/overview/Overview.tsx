import { useEffect } from "react";
import { useSearchParams } from "react-router";
import { useNewestDeadLetter } from "../../api/deadLetters";
import { useAttention, useBalance, useErrorSeries, useHeat, useSummary, type StackBy } from "../../api/metrics";
import { ago, bucket, dateMinute } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { smallestRange, type Range } from "../../lib/ranges";
import { narrowTo, readSpan, widen } from "../../lib/span";
import { useNow, useZone } from "../../lib/zone";
import { Choice } from "../../ui/controls";
import { RefreshError } from "../../ui/RefreshError";
import { SkeletonRows, Notice, PageHead, Panel } from "../../ui/Panel";
import { TimeRangeControl } from "../../ui/TimeRangeControl";
import { useTitle } from "../../ui/useTitle";
import { AttentionList } from "./AttentionList";
import { BalanceLine } from "./BalanceLine";
import { Cards } from "./Cards";
import { ErrorColumns } from "./ErrorColumns";
import styles from "./Overview.module.css";
import { OpenGroups } from "./OpenGroups";
import { OpenWorkPanel } from "./OpenWorkPanel";
import { StageStrip } from "./StageStrip";
import { StatusStrip } from "./StatusStrip";
import { TopicHeat } from "./TopicHeat";
import { TopicTable } from "./TopicTable";

const STACKS: { value: StackBy; label: string }[] = ["exception", "group", "stage", "topic"].map((value) => ({
  value: value as StackBy,
  label: value,
}));

/** Shows what is wrong, what is left to repair, and what to do first. Without a time range: the smallest with data.
 *
 * The last hour has two columns of open work. So it is chosen only while nothing is older. */
export function Overview() {
  const [params, setParams] = useSearchParams();
  const isChosen = params.has("range") || params.has("from");
  const newest = useNewestDeadLetter(!isChosen);
  const older = useNewestDeadLetter(!isChosen, "now-1h");
  const isPending = newest.isPending || older.isPending;
  const moment = isChosen || isPending ? undefined : newest.data?.failed_at;
  const hasOlder = Boolean(older.data);
  useEffect(() => {
    // Somebody who went on while this screen was loading is not brought back.
    const isLeft = window.location.pathname !== "/";
    if (!moment || isLeft) return;
    const smallest = smallestRange(moment, Date.now());
    // The range goes to the address, so that it does not change while somebody looks at it.
    setParams((before) => widen(before, smallest === "1h" && hasOlder ? "24h" : smallest), { replace: true });
  }, [moment, hasOlder, setParams]);
  if (isChosen || (!isPending && !moment)) return <OverviewOfRange />;
  return (
    <>
      <PageHead title="Overview" note=" " />
      <Panel>
        <SkeletonRows rows={10} />
      </Panel>
    </>
  );
}

function OverviewOfRange() {
  const [params, setParams] = useSearchParams();
  const span = readSpan(params);
  const by = STACKS.find((one) => one.value === params.get("by"))?.value ?? "group";
  const balance = useBalance();
  const errors = useErrorSeries(span.from, span.to, by);
  const summary = useSummary(span.from, span.to);
  const heat = useHeat(span.from, span.to);
  const attention = useAttention();
  const stale = [balance, errors, summary, heat, attention].filter(
    (answer) => answer.isError && answer.data !== undefined,
  );
  const oldest = stale.sort((a, b) => a.dataUpdatedAt - b.dataUpdatedAt)[0];
  const stackBy = (value: StackBy) =>
    setParams((before) => new URLSearchParams([...[...before].filter(([name]) => name !== "by"), ["by", value]]));
  const narrow = (from: number, to: number) => setParams((before) => narrowTo(before, from, to));
  const wide = (range?: Range) => setParams((before) => widen(before, range));
  useTitle("Overview");
  useKeys(span.narrowed ? { Escape: () => wide() } : {});
  return (
    <>
      <PageHead
        title="Overview"
        note={
          <Since
            from={errors.data?.from}
            to={errors.data?.to}
            exact={errors.data?.exact}
            updatedAt={errors.dataUpdatedAt}
          />
        }
      >
        <TimeRangeControl span={span} onWiden={wide} />
      </PageHead>
      {oldest?.error && (
        <RefreshError
          error={oldest.error}
          at={oldest.dataUpdatedAt}
          onAgain={() => stale.forEach((answer) => void answer.refetch())}
        />
      )}
      <StatusStrip answer={attention} />
      <BalanceLine balance={balance.data} error={balance.error} />
      <div className={styles.body}>
        <OpenWorkPanel summary={summary.data} span={span} onNarrow={narrow} />
        <AttentionList answer={attention} />
      </div>
      <OpenGroups span={span} />
      <Cards answer={summary} span={span} />
      <Panel
        title={
          <>
            <h2>{errors.data ? `Errors per ${bucket(errors.data.bucket_ms)}` : "Errors"}</h2>
            <span className="s t3">drag to narrow the time</span>
          </>
        }
        aside={
          <>
            <span className="s t3">stacked by</span>
            <Choice label="Stacked by" value={by} options={STACKS} onChange={stackBy} />
          </>
        }
      >
        {errors.data ? (
          <ErrorColumns data={errors.data} by={by} span={span} onNarrow={narrow} onWiden={wide} />
        ) : errors.isError ? (
          <Notice title="The counts could not be loaded">{errors.error.message}</Notice>
        ) : (
          <SkeletonRows rows={1} height={246} />
        )}
      </Panel>
      <TopicHeat answer={heat} span={span} onNarrow={narrow} />
      <StageStrip />
      <TopicTable />
    </>
  );
}

function Since({
  from,
  to,
  exact,
  updatedAt,
}: {
  from: string | undefined;
  to: string | undefined;
  exact: boolean | undefined;
  updatedAt: number;
}) {
  const { zone } = useZone();
  const now = useNow(1000);
  if (!from || !to) return <>All connectors.</>;
  return (
    <>
      All connectors, {dateMinute(from, zone)} to {dateMinute(to, zone)} {zone === "utc" ? "UTC" : "local time"}.{" "}
      {exact ? "Counts are exact." : "Counts are bounded."} Refreshed {ago(new Date(updatedAt).toISOString(), now)}.
    </>
  );
}
