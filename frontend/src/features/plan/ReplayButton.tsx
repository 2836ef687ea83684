import type { ReactNode } from "react";
import { useNavigate } from "react-router";
import { freshKey, useSelect, type What } from "../../api/replays";
import { useMayWrite } from "../../api/session";
import { Button } from "../../ui/controls";

/** Freezes what is chosen as a selection and goes on to its plan; nothing is sent by it. */
export function ReplayButton({ what, primary, children }: { what: What; primary?: boolean; children: ReactNode }) {
  const may = useMayWrite();
  const navigate = useNavigate();
  const select = useSelect();
  return (
    <>
      {select.error && <span className="s failed" role="alert">{select.error.message}</span>}
      <Button
        kind={primary ? "primary" : "default"}
        barred={may.allowed ? undefined : may.reason}
        busy={select.isPending}
        onClick={() => select.mutate({ what, key: freshKey() }, { onSuccess: (selection) => void navigate(`/replays/new?selection=${selection.id}`) })}
      >
        {children}
      </Button>
    </>
  );
}
