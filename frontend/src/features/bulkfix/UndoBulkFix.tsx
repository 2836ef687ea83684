import { useState } from "react";
import { useBulkAct, type BulkFix } from "../../api/bulkFixes";
import { useMayWrite } from "../../api/session";
import { plural } from "../../lib/format";
import { bulkFixName } from "../../lib/naming";
import { Button } from "../../ui/controls";
import { ConfirmDialog } from "../../ui/Dialog";

/** Takes the drafts of a bulk fix back, after a question; for those that made some. */
export function UndoBulkFix({ bulk, small = false }: { bulk: BulkFix; small?: boolean }) {
  const may = useMayWrite();
  const act = useBulkAct(bulk.id);
  const [asking, setAsking] = useState(false);
  if (bulk.status !== "done" && bulk.status !== "cancelled") return null;
  const none = bulk.drafts === 0 ? "It has no drafts left" : undefined;
  return (
    <>
      <Button small={small} barred={may.allowed ? none : may.reason} onClick={() => setAsking(true)}>
        Undo…
      </Button>
      <ConfirmDialog
        open={asking}
        title={`Undo ${bulkFixName(bulk.id)}`}
        confirmLabel={`Undo, and discard ${plural(bulk.drafts, "draft")}`}
        cancelLabel="Keep them"
        danger
        busy={act.isPending}
        error={act.error?.message ?? null}
        onClose={() => setAsking(false)}
        onConfirm={() => act.mutate("undo", { onSuccess: () => setAsking(false) })}
      >
        {bulk.replaced > 0
          ? `${plural(bulk.replaced, "draft")} that it replaced ${bulk.replaced === 1 ? "comes" : "come"} back. `
          : ""}
        Records already sent are not affected.
      </ConfirmDialog>
    </>
  );
}
