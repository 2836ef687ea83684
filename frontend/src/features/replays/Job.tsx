import { useParams } from "react-router";
import { useLive } from "../../api/live";
import { useReplay } from "../../api/replays";
import type { Replay } from "../../api/replayTypes";
import { replayName } from "../../lib/naming";
import { Button } from "../../ui/controls";
import { Bones, Notice, Panel, Strip } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import { Canary } from "./Canary";
import { Items } from "./Items";
import { JobHead } from "./JobHead";
import { Log } from "./Log";
import { Outcome } from "./Outcome";
import { Planned } from "./Planned";
import { Progress } from "./Progress";
import { Reasons } from "./Reasons";
import styles from "./Replays.module.css";
import { Steps } from "./Steps";

const POLL_MS = 2_000;
const RESTING_MS = 10_000;

/** What became of each record so far, how do we know, and how do I stop it? */
export function Job() {
  const { id = "" } = useParams();
  return <ById key={id} id={id} />;
}

function ById({ id }: { id: string }) {
  const first = useReplay(id, false);
  const wanted = first.data !== undefined && unfinished(first.data);
  const live = useLive(id, wanted);
  const { data: replay, error } = useReplay(id, !wanted ? RESTING_MS : live.streaming ? RESTING_MS : POLL_MS);
  useTitle(replay ? `${replayName(replay.id)}: ${replay.title}` : "Replay");
  if (!replay) {
    return (
      <Panel>
        {error ? (
          <Notice title="This replay could not be loaded" actions={<Button to="/replays">All replays</Button>}>
            {error.message}
          </Notice>
        ) : (
          <Bones rows={10} />
        )}
      </Panel>
    );
  }
  if (replay.status === "planned" || replay.status === "planning") return <Planned replay={replay} />;
  const everyMs = wanted ? POLL_MS : RESTING_MS;
  return (
    <>
      <JobHead replay={replay} />
      {replay.trouble && (
        <Strip tone="failed">{replay.status === "paused" ? `Paused: ${replay.trouble}` : replay.trouble}</Strip>
      )}
      {error && <Strip tone="warn">{error.message} The screen shows earlier data.</Strip>}
      <Steps replay={replay} />
      <Outcome replay={replay} />
      {replay.steps.length > 0 && (
        <div className={styles.gap}>
          <Canary replay={replay} />
        </div>
      )}
      <div className={styles.half}>
        <Progress replay={replay} everyMs={everyMs} />
        <Reasons replay={replay} />
      </div>
      <div className={styles.lower}>
        <Items replay={replay} />
        <Log replay={replay} live={wanted ? live : null} everyMs={everyMs} />
      </div>
    </>
  );
}

/** Whether its figures may still move without somebody's doing. */
function unfinished(replay: Replay): boolean {
  const { queued, sending, waiting } = replay.counts;
  return (
    ["planning", "running", "paused", "watching"].includes(replay.status) ||
    (replay.status === "cancelled" && sending + waiting + queued > 0)
  );
}
