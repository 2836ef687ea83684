import { useEffect, useRef, useState } from "react";
import { ApiError } from "../../api/client";
import { useDecide, type Decision, type DisposalAct } from "../../api/disposals";
import { freshKey, type What } from "../../api/replays";
import { Confirm } from "../../ui/controls";
import { DECISIONS } from "./decisions";
import { showDisposalToast } from "./disposalToasts";

interface Props {
  decision: Decision | null;
  what: What;
  /** The records, for the title: "this record", "300 records". */
  subject: string;
  onClose: () => void;
  onDone?: (() => void) | undefined;
}

/** Ask for the reason of a decision and explain its effects. Closing the dialog does not cancel a sent request. */
export function DisposalDialog({ decision, what, subject, onClose, onDone }: Props) {
  const decide = useDecide();
  const [key, setKey] = useState(freshKey);
  const texts = DECISIONS[decision ?? "discard"];
  const isOpen = useRef(false);
  useEffect(() => {
    isOpen.current = decision !== null;
    return () => void (isOpen.current = false);
  }, [decision]);
  const onStored = (disposal: DisposalAct) => {
    showDisposalToast(disposal);
    setKey(freshKey());
    if (isOpen.current) onClose();
    onDone?.();
  };
  const onFailed = (error: Error) => {
    if (!isOpen.current) showDisposalToast({ error: error.message });
    // A request without a response may have succeeded. The next one sends the same key, so that the server acts once.
    if (!(error instanceof ApiError && error.status === 0)) setKey(freshKey());
  };
  const submit = (reason: string) =>
    decision && void decide.mutateAsync({ decision, what, reason, key }).then(onStored, onFailed);
  return (
    <Confirm
      open={decision !== null}
      title={`${texts.label}: ${subject}`}
      asks="Reason"
      required
      yes={texts.submit}
      busy={decide.isPending}
      error={decide.error?.message ?? null}
      onClose={() => (decide.isPending || decide.reset(), onClose())}
      onYes={submit}
    >
      {texts.explanation}
    </Confirm>
  );
}
