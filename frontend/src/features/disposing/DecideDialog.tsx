import { useEffect, useRef, useState } from "react";
import { ApiError } from "../../api/client";
import { useDecide, type Decision, type DisposalAct } from "../../api/disposals";
import { newIdempotencyKey, type SelectionRequest } from "../../api/replays";
import { ConfirmDialog } from "../../ui/controls";
import { tell } from "./toasts";
import { DECISIONS } from "./words";

interface Props {
  decision: Decision | null;
  what: SelectionRequest;
  /** What is decided about: "this record", "300 records". */
  of: string;
  onClose: () => void;
  onDone?: (() => void) | undefined;
}

/** Asks why, and says what it does and what it doesn't; what was asked for goes on when it is closed. */
export function DecideDialog({ decision, what, of, onClose, onDone }: Props) {
  const decide = useDecide();
  const [key, setKey] = useState(newIdempotencyKey);
  const words = DECISIONS[decision ?? "discard"];
  const looking = useRef(false);
  useEffect(() => {
    looking.current = decision !== null;
    return () => void (looking.current = false);
  }, [decision]);
  const done = (act: DisposalAct) => {
    tell(act);
    setKey(newIdempotencyKey());
    if (looking.current) onClose();
    onDone?.();
  };
  const failed = (error: Error) => {
    if (!looking.current) tell({ fault: error.message });
    // Nobody knows whether a request without an answer was carried out: asked again, it is the same one.
    if (!(error instanceof ApiError && error.status === 0)) setKey(newIdempotencyKey());
  };
  const go = (reason: string) =>
    decision && void decide.mutateAsync({ decision, what, reason, key }).then(done, failed);
  return (
    <ConfirmDialog
      open={decision !== null}
      title={`${words.label}: ${of}`}
      inputLabel="Reason"
      required
      confirmLabel={words.yes}
      busy={decide.isPending}
      error={decide.error?.message ?? null}
      onClose={() => (decide.isPending || decide.reset(), onClose())}
      onConfirm={go}
    >
      {words.holds}
    </ConfirmDialog>
  );
}
