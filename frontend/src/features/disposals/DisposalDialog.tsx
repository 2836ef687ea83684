import { useEffect, useRef, useState } from "react";
import { ApiError } from "../../api/client";
import { useDecide, type Decision, type DisposalAct } from "../../api/disposals";
import { newIdempotencyKey, type SelectionRequest } from "../../api/replays";
import { ConfirmDialog } from "../../ui/controls";
import { DECISIONS } from "./decisions";
import { showDisposalToast } from "./disposalToasts";

interface Props {
  decision: Decision | null;
  what: SelectionRequest;
  /** The records, for the title: "this record", "300 records". */
  subject: string;
  onClose: () => void;
  onDone?: (() => void) | undefined;
}

/** Ask for the reason of a decision and explain its effects. Closing the dialog does not cancel a sent request. */
export function DisposalDialog({ decision, what, subject, onClose, onDone }: Props) {
  const decide = useDecide();
  const [key, setKey] = useState(newIdempotencyKey);
  const texts = DECISIONS[decision ?? "discard"];
  const isOpen = useRef(false);
  useEffect(() => {
    isOpen.current = decision !== null;
    return () => void (isOpen.current = false);
  }, [decision]);
  const onStored = (disposal: DisposalAct) => {
    showDisposalToast(disposal);
    setKey(newIdempotencyKey());
    if (isOpen.current) onClose();
    onDone?.();
  };
  const onFailed = (error: Error) => {
    if (!isOpen.current) showDisposalToast({ error: error.message });
    // A request without a response may have succeeded. The next one sends the same key, so that the server acts once.
    if (!(error instanceof ApiError && error.status === 0)) setKey(newIdempotencyKey());
  };
  const submit = (reason: string) =>
    decision && void decide.mutateAsync({ decision, what, reason, key }).then(onStored, onFailed);
  return (
    <ConfirmDialog
      open={decision !== null}
      title={`${texts.label}: ${subject}`}
      inputLabel="Reason"
      required
      confirmLabel={texts.submit}
      busy={decide.isPending}
      error={decide.error?.message ?? null}
      onClose={() => (decide.isPending || decide.reset(), onClose())}
      onConfirm={submit}
    >
      {texts.explanation}
    </ConfirmDialog>
  );
}
