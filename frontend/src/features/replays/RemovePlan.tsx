import { useState } from "react";
import { useNavigate } from "react-router";
import { useRemovePlan } from "../../api/replays";
import type { Replay } from "../../api/replayTypes";
import { useMayWrite } from "../../api/session";
import { replayName } from "../../lib/naming";
import { Button } from "../../ui/controls";
import { ConfirmDialog } from "../../ui/Dialog";

/** Removes a replay that was never run, after a question. */
export function RemovePlan({ replay }: { replay: Replay }) {
  const may = useMayWrite();
  const navigate = useNavigate();
  const remove = useRemovePlan(replay.id);
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Button kind="quiet" barred={may.allowed ? undefined : may.reason} onClick={() => setAsking(true)}>
        Remove plan…
      </Button>
      <ConfirmDialog
        open={asking}
        title={`Remove the plan ${replayName(replay.id)}?`}
        confirmLabel="Remove the plan"
        cancelLabel="Keep it"
        danger
        busy={remove.isPending}
        error={remove.error?.message ?? null}
        onClose={() => setAsking(false)}
        onConfirm={() => remove.mutate(undefined, { onSuccess: () => void navigate("/replays", { replace: true }) })}
      >
        It was never run, so nothing was written. The records and your drafts stay as they are.
        {replay.approval.asked_at !== null && " The request for approval is removed, too."}
      </ConfirmDialog>
    </>
  );
}
