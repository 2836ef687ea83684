import { useReplayAct } from "../../api/replays";
import type { Replay } from "../../api/replayTypes";
import { useMayAct } from "../../api/session";
import { count, plural } from "../../lib/format";
import { replayName, selectionName } from "../../lib/naming";
import { Button } from "../../ui/controls";
import { SkeletonRows, Chip, Meter, PageHead, Panel, Strip } from "../../ui/Panel";
import styles from "./Replays.module.css";

/** The progress of planning a large selection. */
export function PlanningProgress({ replay }: { replay: Replay }) {
  const may = useMayAct();
  const act = useReplayAct(replay.id);
  const { selection, planned_count: done } = replay;
  return (
    <>
      <PageHead
        title={`Replay ${plural(selection.count, "record")}`}
        note={`${replayName(replay.id)}: ${replay.title}. Selection ${selectionName(selection.id)}${selection.created_by ? ` by ${selection.created_by}` : ""}.`}
      >
        <Chip tone="accent">Dry run: nothing has been written</Chip>
      </PageHead>
      <Panel
        label="Plan"
        title="Plan"
        aside={
          <Button
            small
            barred={may.allowed ? undefined : may.reason}
            busy={act.isPending}
            onClick={() => act.mutate({ act: "cancel", body: { reason: "" } })}
          >
            Cancel
          </Button>
        }
      >
        <div className={styles.planning} role="status" data-testid="planning">
          <span>
            {done === 0
              ? "Checking the target and origin topics"
              : `Checked ${count(done)} of ${plural(selection.count, "record")}`}
          </span>
          <Meter part={selection.count === 0 ? 0 : done / selection.count} colour="var(--accent)" />
          {act.error && <Strip tone="failed">{act.error.message}</Strip>}
        </div>
        <SkeletonRows rows={6} />
      </Panel>
    </>
  );
}
