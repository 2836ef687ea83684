import { useState } from "react";
import { useCheckAgain, useReplayAct } from "../../api/replays";
import type { Replay, ReplayOptions } from "../../api/replayTypes";
import { useMayWrite } from "../../api/session";
import { count, dateTime, plural } from "../../lib/format";
import { replayName, selectionName, shortDigest } from "../../lib/naming";
import { useZone } from "../../lib/zone";
import { Chip, PageHead } from "../../ui/Panel";
import { PlanPanel } from "../plan/PlanPanel";
import { SendPanel } from "../plan/SendPanel";
import { Items } from "./Items";
import styles from "./Replays.module.css";

/** What would happen if it were sent: the plan of a replay that nobody has run yet. */
export function Planned({ replay }: { replay: Replay }) {
  const { zone } = useZone();
  const may = useMayWrite();
  const again = useCheckAgain(replay.id);
  const act = useReplayAct(replay.id);
  const [wanted, setWanted] = useState<ReplayOptions | null>(null);
  const { selection, plan } = replay;
  const options = wanted ?? { target_topic: replay.target_topic, use_fixes: replay.use_fixes, resend: replay.resend, rate: replay.rate };
  const turn = (next: ReplayOptions) => {
    setWanted(next);
    again.mutate(next);
  };
  return (
    <>
      <PageHead
        title={`Replay ${plural(selection.count, "record")}`}
        note={
          <>
            {replayName(replay.id)}: {replay.title}. Frozen {dateTime(selection.created_at, zone)} as selection {selectionName(selection.id)}{selection.created_by && ` by ${selection.created_by}`}: {count(selection.count)} dead letters, digest <span className="mono">{shortDigest(selection.digest)}</span>.
          </>
        }
      >
        <Chip tone="accent">Dry run: nothing has been written</Chip>
      </PageHead>
      <div className={styles.plan}>
        <PlanPanel plan={plan} checking={again.isPending} error={again.error} stale={undefined} onCheck={may.allowed ? () => again.mutate(options) : undefined} />
        <SendPanel
          key={replay.id}
          plan={plan}
          count={selection.count}
          options={options}
          onOptions={turn}
          offerDrafts
          busy={act.isPending || again.isPending}
          error={act.error}
          barred={again.isPending ? "The plan is checked again" : undefined}
          onCheck={() => again.mutate(options)}
          onRun={(reason) => plan && act.mutate({ act: "run", body: { reason, plan_digest: plan.digest } })}
        />
      </div>
      <Items replay={replay} />
    </>
  );
}
