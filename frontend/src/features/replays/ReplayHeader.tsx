import { useState } from "react";
import { Link } from "react-router";
import { useMayUseKafka } from "../../api/health";
import { useReplayAct, type ReplayAct } from "../../api/replays";
import type { Replay } from "../../api/replayTypes";
import { useMayAct } from "../../api/session";
import { pageOfName } from "../../lib/connectors";
import { count, dateTime, plural, quoted } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { replayName, selectionName } from "../../lib/naming";
import { sentCount } from "../../lib/outcome";
import { replayStatus } from "../../lib/states";
import { useZone } from "../../lib/zone";
import { Button } from "../../ui/controls";
import { ClusterMark } from "../clusters/ClusterMark";
import { ConfirmDialog } from "../../ui/Dialog";
import { CopyField } from "../../ui/CopyField";
import { Chip, PageHead } from "../../ui/Panel";
import { ReportButton } from "../reports/ReportButton";
import { ContinuedReplay } from "./ContinuedReplay";
import { RateControl } from "./RateControl";
import { RemovePlan } from "./RemovePlan";
import styles from "./Replays.module.css";

export function ReplayHeader({ replay }: { replay: Replay }) {
  const { zone } = useZone();
  const { label, glyph, tone } = replayStatus(replay.status);
  return (
    <PageHead
      title={
        <div className="row" style={{ flexWrap: "wrap", gap: "2px 8px" }}>
          <h1 style={{ overflowWrap: "anywhere" }}>
            {replayName(replay.id)}: {replay.title}
          </h1>
          <ClusterMark name={replay.target_cluster || replay.source_cluster} />
          <span data-testid="status">
            <Chip tone={tone}>
              {glyph && <span aria-hidden="true">{glyph}</span>}
              {label}
            </Chip>
          </span>
        </div>
      }
      note={
        <>
          {plural(replay.counts.total, "record")} to{" "}
          {replay.shadow ? (
            "a shadow topic"
          ) : replay.target_topic ? (
            <span className="mono t2">{replay.target_topic}</span>
          ) : (
            "their origin topic"
          )}
          {replay.target_cluster && (
            <>
              {" "}
              on cluster <span className="mono t2">{replay.target_cluster}</span>
            </>
          )}
          {replay.edited > 0 && <>, {count(replay.edited)} edited</>}, selection {selectionName(replay.selection.id)}.{" "}
          {replay.watching.length > 0 ? (
            <>
              Watching{" "}
              {replay.watching.map((name, at) => (
                <span key={name}>
                  {at > 0 && ", "}
                  <Link className="mono" to={pageOfName(name)}>
                    {name}
                  </Link>
                </span>
              ))}
              .
            </>
          ) : (
            "No connector is watched, so outcomes will be unknown."
          )}{" "}
          <ContinuedReplay selection={replay.selection} />
          {replay.started_by && (
            <>
              Started by {replay.started_by} {dateTime(replay.started_at, zone)}: {quoted(replay.reason)}
            </>
          )}
          {replay.resolve_groups &&
            replay.status !== "cancelled" &&
            replay.status !== "done" &&
            " When the replay ends, each group whose records all passed is resolved, unless it has new failures."}
          <span className={styles.uuid}>
            <span>
              Its records have the header <span className="mono">dlq.replay.id</span>
            </span>
            <CopyField text={replay.uuid} label="dlq.replay.id" />
            {replay.started_at !== null && (
              <Link to={`/records?${new URLSearchParams({ q: `replay_id:${replay.uuid}`, from: "now-30d" })}`}>
                Dead letters with it
              </Link>
            )}
          </span>
        </>
      }
    >
      <ReplayControls replay={replay} />
    </PageHead>
  );
}

/** Buttons to pause, resume, cancel and change the speed; the result appears below them. */
function ReplayControls({ replay }: { replay: Replay }) {
  const may = useMayAct();
  const send = useMayUseKafka();
  const act = useReplayAct(replay.id);
  const [asking, setAsking] = useState(false);
  const [passing, setPassing] = useState(false);
  const [said, setSaid] = useState("");
  const barred = may.allowed ? undefined : may.reason;
  const held = replay.status === "paused";
  const stays = held && !send.allowed ? send.reason : barred; // pausing and cancelling work without Kafka
  const sending = held || replay.status === "running";
  const run = (what: ReplayAct) =>
    act.mutate(what, { onSuccess: (answer) => (setSaid(answer.said ?? ""), setAsking(false), setPassing(false)) });
  const stopped = held && replay.canary?.stopped === true;
  const turn = () => (stopped ? (act.reset(), setPassing(true)) : run({ act: held ? "resume" : "pause" }));
  useKeys({
    " ": (event) => {
      if (
        !sending ||
        stays ||
        act.isPending ||
        (event.target instanceof HTMLElement && event.target.closest("button, a, label, input"))
      )
        return;
      event.preventDefault();
      turn();
    },
  });
  return (
    <div className={styles.controls}>
      <div className={styles.acts}>
        {replay.started_at === null && <RemovePlan replay={replay} />}
        <ReportButton of={`replays/${replay.id}`} />
        {sending && (
          <>
            <Button barred={stays} busy={act.isPending} onClick={turn}>
              <span className="row" style={{ gap: 6 }}>
                {stopped ? "Resume…" : held ? "Resume" : "Pause"} <kbd>Space</kbd>
              </span>
            </Button>
            <RateControl
              rate={replay.rate}
              approvedRate={replay.approval.rate}
              barred={barred}
              busy={act.isPending}
              onRate={(rate) => run({ act: "rate", body: { rate } })}
            />
            <Button kind="danger" barred={barred} onClick={() => (act.reset(), setAsking(true))}>
              Cancel…
            </Button>
          </>
        )}
      </div>
      <span className={`s ${act.error && !asking && !passing ? "failed" : "t2"}`} role="status" data-testid="said">
        {act.error && !asking && !passing ? act.error.message : said}
      </span>
      <ConfirmDialog
        open={passing}
        title={`Continue past the canary of ${replayName(replay.id)}`}
        inputLabel="Reason"
        required
        confirmLabel="Resume past the canary"
        cancelLabel="Stay paused"
        barred={stays}
        busy={act.isPending}
        error={act.error?.message ?? null}
        onClose={() => setPassing(false)}
        onConfirm={(reason) => run({ act: "resume", body: { reason } })}
      >
        {replay.trouble}. Resuming {replay.resuming}.
      </ConfirmDialog>
      <ConfirmDialog
        open={asking}
        title={`Cancel ${replayName(replay.id)}`}
        inputLabel="Reason"
        required
        confirmLabel={`Cancel the ${plural(replay.counts.queued, "queued record")}`}
        cancelLabel="Keep running"
        danger
        busy={act.isPending}
        error={act.error?.message ?? null}
        onClose={() => setAsking(false)}
        onConfirm={(reason) => run({ act: "cancel", body: { reason } })}
      >
        Cancelling does not recall the {plural(sentCount(replay.counts), "record")} already sent. Outcomes are still
        watched.
      </ConfirmDialog>
    </div>
  );
}
