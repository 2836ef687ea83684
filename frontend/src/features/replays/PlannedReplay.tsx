import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useMayUseKafka } from "../../api/health";
import { useRecheckPlan, useReplay, useReplayAct } from "../../api/replays";
import type { Replay, ReplayOptions } from "../../api/replayTypes";
import { count, dateTime, plural, quoted } from "../../lib/format";
import { replayName, selectionName, shortDigest } from "../../lib/naming";
import { shownStatus } from "../../lib/outcome";
import { useNow, useZone } from "../../lib/zone";
import { ClusterMark } from "../clusters/ClusterMark";
import { Chip, PageHead, Strip } from "../../ui/Panel";
import { PlanPanel } from "../plan/PlanPanel";
import { SendPanel } from "../plan/SendPanel";
import { ContinuedReplay } from "./ContinuedReplay";
import { ItemPanel } from "./ItemPanel";
import { PlanningProgress } from "./PlanningProgress";
import { RemovePlan } from "./RemovePlan";
import styles from "./Replays.module.css";

const OPTIONS = [
  "target_topic",
  "use_fixes",
  "resend",
  "rate",
  "target_cluster",
  "shadow",
  "keep_timestamps",
  "order",
  "steps",
  "breaker_percent",
  "max_lag",
  "resolve_groups",
] as const;
const PLAN_MAX_AGE_MS = 15 * 60_000;

/** The page of a replay that was planned and not started. */
export function PlannedReplay({ replay }: { replay: Replay }) {
  const { zone } = useZone();
  const may = useMayUseKafka();
  const again = useRecheckPlan(replay.id);
  const act = useReplayAct(replay.id);
  const [changedOptions, setChangedOptions] = useState<ReplayOptions | null>(null);
  const { selection, plan, approval } = replay;
  const { data: before } = useReplay(String(selection.continues ?? ""), false);
  const waits = shownStatus(replay) === "waits_for_approval";
  const options: ReplayOptions = changedOptions ?? pick(replay, OPTIONS);
  const changeOptions = (next: ReplayOptions) => {
    setChangedOptions(next);
    if (next.rate !== options.rate)
      act.mutate({ act: "rate", body: { rate: next.rate } }); // the speed changes only the plan's digest, so no new check is needed
    else again.mutate(next);
  };
  const now = useNow(5_000);
  const old = plan && now - Date.parse(plan.checked_at) > PLAN_MAX_AGE_MS;
  const stale = old ? "This plan is older than 15 minutes. Check it again before it is run." : undefined;
  useFetchedPlan(replay);
  if (replay.status === "planning") return <PlanningProgress replay={replay} />;
  return (
    <>
      <PageHead
        title={`Replay ${plural(selection.count, "record")}`}
        note={
          <>
            {replayName(replay.id)}: {replay.title}. Frozen {dateTime(selection.created_at, zone)} as selection{" "}
            {selectionName(selection.id)}
            {selection.created_by && ` by ${selection.created_by}`}: {count(selection.count)} dead letters, digest{" "}
            <span className="mono">{shortDigest(selection.digest)}</span>. <ContinuedReplay selection={selection} />
          </>
        }
      >
        {waits && <Chip tone="waiting">… Waits for approval</Chip>}
        <ClusterMark name={replay.target_cluster || replay.source_cluster} />
        <Chip tone="accent">Dry run: nothing has been written</Chip>
        <RemovePlan replay={replay} />
      </PageHead>
      {waits && replay.reason && (
        <Strip tone="waiting">
          Waits for approval. {approval.asked_by ?? "Somebody"} gives this reason: {quoted(replay.reason)}
        </Strip>
      )}
      <div className={styles.plan}>
        <PlanPanel
          plan={plan}
          checking={again.isPending}
          error={again.error}
          stale={stale}
          onCheck={may.allowed ? () => again.mutate(options) : undefined}
        />
        <SendPanel
          key={replay.id}
          plan={plan}
          count={selection.count}
          options={options}
          onOptions={changeOptions}
          source={replay.source_cluster}
          offerDrafts
          offerGroupResolution
          busy={act.isPending || again.isPending}
          error={act.error}
          barred={again.isPending ? "The plan is checked again" : stale && "Check again first"}
          onCheck={() => again.mutate(options)}
          onRun={(why, typed, resolveGroups) =>
            plan &&
            act.mutate({
              act: "run",
              body: { reason: why, plan_digest: plan.digest, typed, resolve_groups: resolveGroups },
            })
          }
          approval={approval}
          knownReason={before?.reason ?? ""}
          onRequestApproval={(why) =>
            plan && act.mutate({ act: "ask", body: { reason: why, plan_digest: plan.digest } })
          }
          onApprove={() => plan && act.mutate({ act: "approve", body: { reason: "", plan_digest: plan.digest } })}
          onReject={(why) => act.mutate({ act: "reject", body: { reason: why } })}
        />
      </div>
      <ItemPanel replay={replay} />
    </>
  );
}

/** Fetch the plan when it is complete: the event stream sends replays without their plans. */
function useFetchedPlan({ id, status, plan }: Replay): void {
  const client = useQueryClient();
  const missing = status === "planned" && !plan;
  useEffect(() => {
    if (missing) void client.invalidateQueries({ queryKey: ["replay", String(id)] });
  }, [client, id, missing]);
}

function pick<T extends object, K extends keyof T>(from: T, names: readonly K[]): Pick<T, K> {
  return Object.fromEntries(names.map((name) => [name, from[name]])) as Pick<T, K>;
}
