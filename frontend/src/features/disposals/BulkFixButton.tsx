import { useNavigate } from "react-router";
import { newIdempotencyKey, useCreateSelection, type SelectionRequest } from "../../api/replays";
import { useMayEdit } from "../../api/session";
import { Button } from "../../ui/controls";

/** Freeze the chosen records as a selection and open the bulk fix screen. This changes no record. */
export function BulkFixButton({ what }: { what: SelectionRequest }) {
  const may = useMayEdit();
  const navigate = useNavigate();
  const select = useCreateSelection();
  const openBulkFix = () =>
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
      <Button barred={may.allowed ? undefined : may.reason} busy={select.isPending} onClick={openBulkFix}>
        Fix in bulk…
      </Button>
    </>
  );
}
