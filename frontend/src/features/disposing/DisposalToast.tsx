import { useDisposalAct, useUndoDisposal, type DisposalAct } from "../../api/disposals";
import { Button } from "../../ui/controls";
import styles from "./Disposing.module.css";
import { tell, useTold } from "./toasts";

/** What was decided last, with its undo; it stays until it is closed, so that nobody has to be quick. */
export function DisposalToast() {
  const told = useTold();
  return (
    <div role="status" className={styles.place}>
      {told && (
        <div className={styles.toast} data-testid="disposal-toast">
          {"fault" in told ? (
            <span className={styles.fault}>Not done: {told.fault}</span>
          ) : (
            <Done key={told.id} act={told} />
          )}
          <Button small kind="quiet" onClick={() => tell(null)}>
            Close
          </Button>
        </div>
      )}
    </div>
  );
}

function Done({ act }: { act: DisposalAct }) {
  const now = useDisposalAct(act);
  const undo = useUndoDisposal();
  return (
    <>
      <span>{now.said}.</span>
      {undo.error && (
        <span className={styles.fault} role="alert">
          {undo.error.message}
        </span>
      )}
      {now.kind !== "restored" && (
        <Button small busy={undo.isPending} onClick={() => undo.mutate(now.id, { onSuccess: tell })}>
          Undo
        </Button>
      )}
    </>
  );
}
