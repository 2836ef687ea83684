import type { ReactNode } from "react";
import { useNavigate } from "react-router";
import { newIdempotencyKey, useCreateSelection, type SelectionRequest } from "../../api/replays";
import { useMaySend } from "../../api/health";
import { useKeys } from "../../lib/keys";
import { Button } from "../../ui/controls";

interface Props {
  what: SelectionRequest;
  primary?: boolean;
  /** The reason why these records cannot be replayed by anybody. */
  barred?: string | undefined;
  /** Whether the key `r` presses this button; true by default. */
  hasShortcut?: boolean;
  children: ReactNode;
}

/** Freezes the chosen records as a selection and opens the plan. It sends nothing. */
export function ReplayButton({ what, primary, barred, hasShortcut = true, children }: Props) {
  const may = useMaySend();
  const navigate = useNavigate();
  const select = useCreateSelection();
  const stop = may.allowed ? barred : may.reason;
  const go = () =>
    select.mutate(
      { what, key: newIdempotencyKey() },
      { onSuccess: (selection) => void navigate(`/replays/new?selection=${selection.id}`) },
    );
  useKeys(hasShortcut ? { r: () => void (!stop && !select.isPending && go()) } : {});
  return (
    <>
      {select.error && (
        <span className="s failed" role="alert">
          {select.error.message}
        </span>
      )}
      <Button
        kind={primary ? "primary" : "default"}
        barred={stop}
        busy={select.isPending}
        title={hasShortcut ? "Replay (r)" : "Replay"}
        onClick={go}
      >
        {children}
      </Button>
    </>
  );
}
