import { useDisposalAct, useUndoDisposal, type DisposalAct } from "../../api/disposals";
import { Button } from "../../ui/controls";
import styles from "./Disposals.module.css";
import { showDisposalToast, useDisposalToast } from "./disposalToasts";

/** The latest decision with its undo button. It stays until the user closes it: a time limit would be hard to meet. */
export function DisposalToast() {
  const content = useDisposalToast();
  return (
    <div role="status" className={styles.corner}>
      {content && (
        <div className={styles.toast} data-testid="disposal-toast">
          {"error" in content ? (
            <span className={styles.error}>Not done: {content.error}</span>
          ) : (
            <DisposalResult key={content.id} disposal={content} />
          )}
          <Button small kind="quiet" onClick={() => showDisposalToast(null)}>
            Close
          </Button>
        </div>
      )}
    </div>
  );
}

function DisposalResult({ disposal }: { disposal: DisposalAct }) {
  const latest = useDisposalAct(disposal);
  const undo = useUndoDisposal();
  return (
    <>
      <span>{latest.said}.</span>
      {undo.error && (
        <span className={styles.error} role="alert">
          {undo.error.message}
        </span>
      )}
      {latest.kind !== "restored" && (
        <Button small busy={undo.isPending} onClick={() => undo.mutate(latest.id, { onSuccess: showDisposalToast })}>
          Undo
        </Button>
      )}
    </>
  );
}
