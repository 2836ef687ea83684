import { useState } from "react";
import type { Approval } from "../../api/replayTypes";
import { useMayAct, useSession } from "../../api/session";
import { dateTime } from "../../lib/format";
import { useZone } from "../../lib/zone";
import { Button } from "../../ui/controls";
import { ConfirmDialog } from "../../ui/Dialog";
import { Strip } from "../../ui/Panel";

interface Props {
  approval: Approval;
  busy: boolean;
  error: Error | null;
  /** The reason why nobody can approve this plan now. */
  barred: string | undefined;
  onApprove: () => void;
  onReject: (reason: string) => void;
}

/** The state of a plan's approval, with buttons for the second person. */
export function PlanApproval({ approval, busy, error, barred, onApprove, onReject }: Props) {
  const { zone } = useZone();
  const { data: me } = useSession();
  const may = useMayAct();
  const [asking, setAsking] = useState(false);
  if (approval.approved) {
    return (
      <Strip tone="passed">
        Approved by {approval.approved_by ?? "somebody"} {dateTime(approval.approved_at, zone)}.
      </Strip>
    );
  }
  if (approval.asked_at === null)
    return <Strip tone="warn">A second person must approve the plan: {approval.reasons.join("; ")}.</Strip>;
  if (approval.void)
    return (
      <Strip tone="warn">The plan changed since {approval.asked_by ?? "somebody"} asked for approval. Try again.</Strip>
    );
  const why =
    me?.approver !== true
      ? "Needs the role approver"
      : me.username === approval.asked_by
        ? "You requested approval: another person must approve"
        : approval.barred.includes(me.username ?? "")
          ? "You planned or edited it: another person must approve"
          : may.allowed
            ? barred
            : may.reason;
  return (
    <>
      <Strip tone="warn">
        {approval.asked_by ?? "Somebody"} asked for approval {dateTime(approval.asked_at, zone)}
        {approval.reasons.length > 0 && `: ${approval.reasons.join("; ")}`}.
        {approval.barred.length > 0 && ` Somebody else than ${approval.barred.join(", ")} must approve.`}
      </Strip>
      <div className="row" style={{ flexWrap: "wrap" }}>
        <Button kind="primary" busy={busy} barred={why} onClick={onApprove}>
          Approve
        </Button>
        <Button busy={busy} barred={why} onClick={() => setAsking(true)}>
          Reject…
        </Button>
        {why && <span className="s t3">{why}</span>}
      </div>
      <ConfirmDialog
        open={asking}
        title="Reject this plan"
        inputLabel="Reason"
        required
        confirmLabel="Reject"
        busy={busy}
        error={error?.message ?? null}
        onClose={() => setAsking(false)}
        onConfirm={(reason) => (onReject(reason), setAsking(false))}
      >
        The plan does not change. It can be edited and submitted for approval again.
      </ConfirmDialog>
    </>
  );
}
