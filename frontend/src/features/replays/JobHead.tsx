import { useState } from "react";
import { Link } from "react-router";
import { useReplayAct, type Act } from "../../api/replays";
import type { Replay } from "../../api/replayTypes";
import { useMayWrite } from "../../api/session";
import { count, dateTime, plural } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { replayName, selectionName } from "../../lib/naming";
import { faster, rateWords, sentOf, slower } from "../../lib/outcome";
import { replayStatus } from "../../lib/states";
import { useZone } from "../../lib/zone";
import { Button, Confirm } from "../../ui/controls";
import { Chip, PageHead } from "../../ui/Panel";
import styles from "./Replays.module.css";

export function JobHead({ replay }: { replay: Replay }) {
  const { zone } = useZone();
  const { label, glyph, tone } = replayStatus(replay.status);
  return (
    <PageHead
      title={
        <div className="row" style={{ flexWrap: "wrap", gap: "2px 8px" }}>
          <h1 style={{ overflowWrap: "anywhere" }}>{replayName(replay.id)}: {replay.title}</h1>
          <span data-testid="status"><Chip tone={tone}>{glyph && <span aria-hidden="true">{glyph}</span>}{label}</Chip></span>
        </div>
      }
      note={
        <>
          {plural(replay.counts.total, "record")} to {replay.target_topic ? <span className="mono t2">{replay.target_topic}</span> : "their origin topic"}
          {replay.edited > 0 && <>, {count(replay.edited)} edited</>}, selection {selectionName(replay.selection.id)}.{" "}
          {replay.watching.length > 0 ? <>Watching {replay.watching.map((name, at) => <span key={name}>{at > 0 && ", "}<Link className="mono" to={`/connectors/${name}`}>{name}</Link></span>)}.</> : "No connector is watched: outcomes will be unknown."}{" "}
          {replay.started_by && <>Begun by {replay.started_by} {dateTime(replay.started_at, zone)}: “{replay.reason}”.</>}
        </>
      }
    >
      <Controls replay={replay} />
    </PageHead>
  );
}

/** Stops, slows and speeds it up; each says what it did. */
function Controls({ replay }: { replay: Replay }) {
  const may = useMayWrite();
  const act = useReplayAct(replay.id);
  const [asking, setAsking] = useState(false);
  const [said, setSaid] = useState("");
  const barred = may.allowed ? undefined : may.reason;
  const held = replay.status === "paused";
  const sending = held || replay.status === "running";
  const run = (what: Act) => act.mutate(what, { onSuccess: (answer) => (setSaid(answer.said ?? ""), setAsking(false)) });
  const turn = () => run({ act: held ? "resume" : "pause" });
  useKeys({
    " ": (event) => {
      if (!sending || barred || act.isPending || (event.target instanceof HTMLElement && event.target.closest("button, a, label, input"))) return;
      event.preventDefault();
      turn();
    },
  });
  return (
    <div className={styles.controls}>
      {sending && (
        <div className="row">
          <Button barred={barred} busy={act.isPending} onClick={turn}><span className="row" style={{ gap: 6 }}>{held ? "Resume" : "Pause"} <kbd>Space</kbd></span></Button>
          <span className={styles.rate} role="group" aria-label="Speed">
            <Button barred={barred ?? (replay.rate === 1 ? "1 / s is the slowest" : undefined)} busy={act.isPending} onClick={() => run({ act: "rate", body: { rate: slower(replay.rate) } })}>Slower</Button>
            <b data-testid="rate">{rateWords(replay.rate)}</b>
            <Button barred={barred ?? (replay.rate === 0 ? "There is no limit" : undefined)} busy={act.isPending} onClick={() => run({ act: "rate", body: { rate: faster(replay.rate) } })}>Faster</Button>
          </span>
          <Button kind="danger" barred={barred} onClick={() => (act.reset(), setAsking(true))}>Cancel…</Button>
        </div>
      )}
      <span className={`s ${act.error && !asking ? "failed" : "t2"}`} role="status" data-testid="said">{act.error && !asking ? act.error.message : said}</span>
      <Confirm
        open={asking}
        title={`Cancel ${replayName(replay.id)}`}
        asks="Reason"
        required
        yes={`Cancel the ${plural(replay.counts.queued, "queued record")}`}
        no="Go on"
        danger
        busy={act.isPending}
        error={act.error?.message ?? null}
        onClose={() => setAsking(false)}
        onYes={(reason) => run({ act: "cancel", body: { reason } })}
      >
        {plural(sentOf(replay.counts), "record")} went out already and cannot be recalled; {sentOf(replay.counts) === 1 ? "its outcome is" : "their outcomes are"} still watched.
      </Confirm>
    </div>
  );
}
