import { useRef, useState } from "react";
import { Link, useNavigate } from "react-router";
import { newIdempotencyKey, useContinue, useUnfinished } from "../../api/replays";
import type { Replay, UnfinishedBody } from "../../api/replayTypes";
import { useMayEdit } from "../../api/session";
import { count, plural } from "../../lib/format";
import { replayName } from "../../lib/naming";
import { Button } from "../../ui/controls";
import { ConfirmDialog } from "../../ui/Dialog";

/** Opens the fix for the records that failed again or were not sent, with the program of their former fix. */
export function ContinueReplay({ replay }: { replay: Replay }) {
  const { counts, status } = replay;
  const pauses = status === "paused";
  const rests = pauses || status === "cancelled";
  const wanted = status !== "running" && (counts.failed_again > 0 || rests);
  const figures = `${status} ${counts.failed_again} ${counts.queued} ${counts.skipped}`;
  const { data } = useUnfinished(wanted ? String(replay.id) : "", figures);
  const may = useMayEdit();
  const navigate = useNavigate();
  const next = useContinue(replay.id);
  const key = useRef(newIdempotencyKey());
  const [asking, setAsking] = useState(false);
  if (!wanted || !data) return null;
  const open = (body: UnfinishedBody) =>
    next.mutate(
      { body, key: key.current },
      {
        onSuccess: ({ id }) => void navigate(`/bulk-fixes/new?selection=${id}`),
        onError: () => (key.current = newIdempotencyKey()),
      },
    );
  const { failed_again: failed, unsent, replays } = data;
  const all = failed + unsent;
  const barred = may.allowed ? undefined : may.reason;
  if (all === 0 && replays.length === 0) return null;
  return (
    <div className="row s" style={{ flexWrap: "wrap", margin: "4px 0 12px" }} data-testid="unfinished">
      {failed > 0 && (
        <Button
          small
          barred={barred}
          busy={next.isPending && !asking}
          onClick={() => open({ records: "failed_again", reason: "" })}
        >
          Fix the {count(failed)} that failed again…
        </Button>
      )}
      {rests && unsent > 0 && (
        <Button
          small
          barred={barred}
          busy={next.isPending && !asking}
          onClick={() => (pauses ? (next.reset(), setAsking(true)) : open({ records: "all", reason: "" }))}
        >
          {pauses ? `Cancel the rest and fix all ${count(all)}…` : `Fix all ${count(all)} unfinished…`}
        </Button>
      )}
      {replays.length > 0 && (
        <span className="t2">
          Continued by{" "}
          {replays.map((id, at) => (
            <span key={id}>
              {at > 0 && ", "}
              <Link to={`/replays/${id}`}>{replayName(id)}</Link>
            </span>
          ))}
          .
        </span>
      )}
      {next.error && !asking && (
        <span className="failed" role="alert">
          {next.error.message}
        </span>
      )}
      <ConfirmDialog
        open={asking}
        title={`Cancel ${replayName(replay.id)} and fix its rest`}
        inputLabel="Reason"
        required
        confirmLabel={`Cancel the rest and fix ${plural(all, "record")}`}
        cancelLabel="Stay paused"
        danger
        busy={next.isPending}
        error={next.error?.message ?? null}
        onClose={() => setAsking(false)}
        onConfirm={(reason) => open({ records: "all", reason })}
      >
        The plan of {replayName(replay.id)} is frozen, so a new fix needs a new plan. The {plural(unsent, "record")} not
        sent yet {failed > 0 && `and the ${count(failed)} that failed again `}become one selection.
      </ConfirmDialog>
    </div>
  );
}
