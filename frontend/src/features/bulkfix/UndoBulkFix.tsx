import { useState } from "react";
import { useBulkAct, type BulkFix } from "../../api/bulkFixes";
import { useMayWrite } from "../../api/session";
import { plural } from "../../lib/format";
import { bulkFixName } from "../../lib/naming";
import { Button, Confirm } from "../../ui/controls";

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
      <Confirm
        open={asking}
        title={`Undo ${bulkFixName(bulk.id)}?`}
        yes={`Throw ${plural(bulk.drafts, "draft")} away`}
        no="Keep them"
        danger
        busy={act.isPending}
        error={act.error?.message ?? null}
        onClose={() => setAsking(false)}
        onYes={() => act.mutate("undo", { onSuccess: () => setAsking(false) })}
      >
        {bulk.replaced > 0
          ? `${plural(bulk.replaced, "draft")} that it replaced ${bulk.replaced === 1 ? "comes" : "come"} back. `
          : ""}
        Records already sent are not affected.
      </Confirm>
    </>
  );
}
