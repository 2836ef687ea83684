import type { ReactNode } from "react";
import styles from "./Plan.module.css";

/** A labelled row of the send form. */
export function OptionRow({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className={styles.optionRow}>
      <span className="s t3">{label}</span>
      <div className={styles.field}>{children}</div>
    </div>
  );
}
