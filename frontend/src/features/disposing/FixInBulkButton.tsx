import { useNavigate } from "react-router";
import { newIdempotencyKey, useCreateSelection, type SelectionRequest } from "../../api/replays";
import { useMayEdit } from "../../api/session";
import { Button } from "../../ui/controls";

/** Freezes what is chosen as a selection and goes on to one change for all of it; nothing is changed by it. */
export function FixInBulkButton({ what }: { what: SelectionRequest }) {
  const may = useMayEdit();
  const navigate = useNavigate();
  const select = useCreateSelection();
  const go = () =>
    select.mutate(
      { what, key: newIdempotencyKey() },
      { onSuccess: (selection) => void navigate(`/bulk-fixes/new?selection=${selection.id}`) },
    );
  return (
    <>
      {select.error && (
        <span className="s failed" role="alert">
          {select.error.message}
        </span>
      )}
      <Button barred={may.allowed ? undefined : may.reason} busy={select.isPending} onClick={go}>
        Fix in bulk…
      </Button>
    </>
  );
}
