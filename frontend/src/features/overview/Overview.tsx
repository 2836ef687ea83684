import { useSearchParams } from "react-router";
import { useBalance, useErrorSeries, type StackBy } from "../../api/metrics";
import { ago, bucket, dateMinute } from "../../lib/format";
import { RANGES, asRange } from "../../lib/ranges";
import { useNow, useZone } from "../../lib/zone";
import { Choice } from "../../ui/controls";
import { Bones, Notice, PageHead, Panel, Strip } from "../../ui/Panel";
import { AttentionList } from "./AttentionList";
import { BalanceLine } from "./BalanceLine";
import { Cards } from "./Cards";
import { ErrorColumns } from "./ErrorColumns";
import styles from "./Overview.module.css";
import { StageStrip } from "./StageStrip";
import { TopicTable } from "./TopicTable";

const STACKS: { value: StackBy; label: string }[] = ["exception", "group", "stage", "topic"].map((value) => ({ value: value as StackBy, label: value }));

/** Is anything wrong, is it new, and what must be done first? */
export function Overview() {
  const [params, setParams] = useSearchParams();
  const range = asRange(params.get("range"));
  const by = STACKS.find((one) => one.value === params.get("by"))?.value ?? "group";
  const from = `now-${range}`;
  const balance = useBalance();
  const errors = useErrorSeries(from, by);
  const set = (name: string, value: string) => {
    setParams((before) => {
      const next = new URLSearchParams(before);
      next.set(name, value);
      return next;
    });
  };
  return (
    <>
      <PageHead title="Overview" note={<Since from={errors.data?.from} to={errors.data?.to} exact={errors.data?.exact} updatedAt={errors.dataUpdatedAt} />}>
        <Choice label="Time" value={range} options={RANGES} onChange={(next) => set("range", next)} />
      </PageHead>
      {balance.isError && balance.data && <Strip tone="warn">The figures below are {ago(new Date(balance.dataUpdatedAt).toISOString(), errors.dataUpdatedAt)}: {balance.error.message}</Strip>}
      <BalanceLine balance={balance.data} error={balance.error} />
      <Cards from={from} />
      <div className={styles.body}>
        <Panel
          title={<h2>{errors.data ? `Errors per ${bucket(errors.data.bucket_ms)}` : "Errors"}</h2>}
          aside={<><span className="s t3">stacked by</span><Choice label="Stacked by" value={by} options={STACKS} onChange={(next) => set("by", next)} /></>}
        >
          {errors.data ? (
            <ErrorColumns data={errors.data} by={by} from={from} />
          ) : errors.isError ? (
            <Notice title="The counts did not come">{errors.error.message}</Notice>
          ) : (
            <Bones rows={1} height={246} />
          )}
        </Panel>
        <AttentionList />
      </div>
      <StageStrip />
      <TopicTable />
    </>
  );
}

function Since({ from, to, exact, updatedAt }: { from: string | undefined; to: string | undefined; exact: boolean | undefined; updatedAt: number }) {
  const { zone } = useZone();
  const now = useNow(1000);
  if (!from || !to) return <>All connectors.</>;
  return (
    <>
      All connectors, {dateMinute(from, zone)} to {dateMinute(to, zone)} {zone === "utc" ? "UTC" : "local time"}. {exact ? "Counts are exact." : "Counts are bounded."} Refreshed{" "}
      {ago(new Date(updatedAt).toISOString(), now)}.
    </>
  );
}
