import type { ReactNode } from "react";
import { Button } from "./controls";
import styles from "./controls.module.css";
import { Dialog } from "./Dialog";
import { Strip } from "./Panel";

interface Props {
  title: string;
  /** The warning: what to do now, because the server does not show it again. */
  warning: string;
  /** The secret to copy, and words about it. */
  children: ReactNode;
  onClose: () => void;
}

/** A secret that is shown once. The dialog does not close by accident. */
export function OnceDialog({ title, warning, children, onClose }: Props) {
  return (
    <Dialog open persistent title={title} onClose={onClose}>
      <div className={styles.dialogBody}>
        <div className={styles.onceWarning}>
          <Strip tone="warn">{warning}</Strip>
        </div>
        {children}
        <div className="row" style={{ justifyContent: "flex-end" }}>
          <Button kind="primary" onClick={onClose}>
            Done
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
