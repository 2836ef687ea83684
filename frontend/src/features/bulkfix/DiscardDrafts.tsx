import { useState } from "react";
import { useDiscardDrafts, useOwnDrafts } from "../../api/bulkFixes";
import { useMayWrite } from "../../api/session";
import { plural } from "../../lib/format";
import { Button } from "../../ui/controls";
import { ConfirmDialog } from "../../ui/Dialog";

/** Discards one's own drafts of a selection's records, if there are any. */
export function DiscardDrafts({ of, name }: { of: { selection: number }; name: string }) {
  const may = useMayWrite();
  const { data } = useOwnDrafts(of);
  const discard = useDiscardDrafts();
  const [asking, setAsking] = useState(false);
  if (!data || data.count === 0) return null;
  return (
    <>
      <Button kind="quiet" barred={may.allowed ? undefined : may.reason} onClick={() => setAsking(true)}>
        Discard {plural(data.count, "draft")}…
      </Button>
      <ConfirmDialog
        open={asking}
        title={`Discard all your drafts of ${name}?`}
        confirmLabel={`Discard ${plural(data.count, "draft")}`}
        cancelLabel="Keep them"
        danger
        busy={discard.isPending}
        error={discard.error?.message ?? null}
        onClose={() => setAsking(false)}
        onConfirm={() => discard.mutate(of, { onSuccess: () => setAsking(false) })}
      >
        Drafts made by hand and in bulk are deleted. They can’t be restored. Records already sent are not affected.
      </ConfirmDialog>
    </>
  );
}
