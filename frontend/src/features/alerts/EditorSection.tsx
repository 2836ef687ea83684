import type { ReactNode } from "react";
import styles from "./Alerts.module.css";

/** A part of the rule editor, with its name beside it. */
export function EditorSection({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className={styles.section}>
      <h3>{title}</h3>
      <div>{children}</div>
    </section>
  );
}

/** A small button that removes a row of the editor. */
export function RemoveButton({ label, onClick }: { label: string; onClick: () => void }) {
  return (
    <button type="button" className={styles.remove} aria-label={label} title={label} onClick={onClick}>
      ×
    </button>
  );
}
