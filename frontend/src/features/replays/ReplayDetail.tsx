import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { useParams } from "react-router";
import { useReplayStream } from "../../api/replayStream";
import { useReplay } from "../../api/replays";
import type { Replay } from "../../api/replayTypes";
import { replayName } from "../../lib/naming";
import { Button } from "../../ui/controls";
import { SkeletonRows, Notice, Panel, Strip } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import { CanaryPanel } from "./CanaryPanel";
import { ItemPanel } from "./ItemPanel";
import { ReplayHeader } from "./ReplayHeader";
import { ReplayLogPanel } from "./ReplayLogPanel";
import { OutcomePanel } from "./OutcomePanel";
import { PlannedReplay } from "./PlannedReplay";
import { ProgressPanel } from "./ProgressPanel";
import { EvidencePanel } from "./EvidencePanel";
import styles from "./Replays.module.css";
import { ReplaySteps } from "./ReplaySteps";

const POLL_MS = 2_000;
const SLOW_POLL_MS = 10_000;

/** The page of one replay: controls, progress, outcomes and evidence. */
export function ReplayDetail() {
  const { id = "" } = useParams();
  return <LiveReplay key={id} id={id} />;
}

function LiveReplay({ id }: { id: string }) {
  const first = useReplay(id, false);
  const wanted = first.data !== undefined && isChanging(first.data);
  const live = useReplayStream(id, wanted);
  const { data: replay, error } = useReplay(id, !wanted ? SLOW_POLL_MS : live.streaming ? SLOW_POLL_MS : POLL_MS);
  useRefreshOnTurn(id, replay && `${replay.status} ${wanted}`);
  useTitle(replay ? `${replayName(replay.id)}: ${replay.title}` : "Replay");
  if (!replay) {
    return (
      <Panel>
        {error ? (
          <Notice title="This replay could not be loaded" actions={<Button to="/replays">All replays</Button>}>
            {error.message}
          </Notice>
        ) : (
          <SkeletonRows rows={10} />
        )}
      </Panel>
    );
  }
  if (replay.status === "planned" || replay.status === "planning") return <PlannedReplay replay={replay} />;
  const everyMs = wanted ? POLL_MS : SLOW_POLL_MS;
  return (
    <>
      <ReplayHeader replay={replay} />
      {replay.trouble && (
        <Strip tone="failed">{replay.status === "paused" ? `Paused: ${replay.trouble}` : replay.trouble}</Strip>
      )}
      {error && <Strip tone="warn">{error.message} The screen shows earlier data.</Strip>}
      <ReplaySteps replay={replay} />
      <OutcomePanel replay={replay} />
      {replay.steps.length > 0 && (
        <div className={styles.gap}>
          <CanaryPanel replay={replay} />
        </div>
      )}
      <div className={styles.twoColumns}>
        <ProgressPanel replay={replay} everyMs={everyMs} />
        <EvidencePanel replay={replay} />
      </div>
      <div className={styles.itemsAndLog}>
        <ItemPanel replay={replay} />
        <ReplayLogPanel replay={replay} live={wanted ? live : null} everyMs={everyMs} />
      </div>
    </>
  );
}

/** Load log and chart again when the replay's status changes: their next poll may be far away, or never come. */
function useRefreshOnTurn(id: string, state: string | undefined): void {
  const client = useQueryClient();
  useEffect(() => {
    if (state === undefined) return;
    const refresh = () =>
      [
        ["replay-log", id],
        ["replay-series", id],
      ].forEach((queryKey) => void client.invalidateQueries({ queryKey }));
    refresh();
    const timer = setTimeout(refresh, POLL_MS); // some entries are written a moment after the status
    return () => clearTimeout(timer);
  }, [client, id, state]);
}

/** Return whether the replay's counts can still change without a person's action. */
function isChanging(replay: Replay): boolean {
  const { queued, sending, waiting } = replay.counts;
  return (
    ["planning", "running", "paused", "watching"].includes(replay.status) ||
    (replay.status === "cancelled" && sending + waiting + queued > 0)
  );
}
