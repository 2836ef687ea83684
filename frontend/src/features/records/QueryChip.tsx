import type { Clause } from "../../lib/filter";
import { said } from "../../lib/query";
import { join } from "../../ui/Panel";
import styles from "./QueryBar.module.css";

interface Props {
  clause: Clause;
  groupLabels: Map<string, string>;
  /** Which part of its text the server could not take. */
  fault: { start: number; end: number } | null;
  onSwitch: () => void;
  onEdit: () => void;
  onDrop: () => void;
}

/** A clause: its body switches it off or on, or is typed again where it is wrong; its pencil types it again, its cross takes it away. */
export function QueryChip({ clause, groupLabels, fault, onSwitch, onEdit, onDrop }: Props) {
  const { field, values, exclude } = said(clause.text);
  const shown = field === "group" ? values.map((value) => groupLabels.get(value) ?? value) : values;
  const body = fault ? (
    <button type="button" className={join(styles.body, "mono")} title="Click to correct it" onClick={onEdit}>
      {clause.text.slice(0, fault.start)}
      <mark className={styles.fault}>{clause.text.slice(fault.start, fault.end)}</mark>
      {clause.text.slice(fault.end)}
    </button>
  ) : (
    <button
      type="button"
      className={styles.body}
      title={clause.off ? "Switched off; click to switch on" : "Click to switch off"}
      aria-pressed={!clause.off}
      onClick={onSwitch}
    >
      <em>
        {exclude ? "not " : ""}
        {(field ?? "text").replace("_", " ")}
      </em>{" "}
      {shown.join(" or ")}
    </button>
  );
  return (
    <span
      className={join(styles.token, exclude && styles.not, clause.off && styles.off, fault !== null && styles.wrong)}
      data-testid="clause"
    >
      {body}
      <button type="button" className={styles.edit} aria-label={`Edit ${clause.text}`} title="Edit" onClick={onEdit}>
        <svg
          width="10"
          height="10"
          viewBox="0 0 16 16"
          fill="none"
          stroke="currentColor"
          strokeWidth="1.6"
          strokeLinejoin="round"
          aria-hidden="true"
        >
          <path d="M2 14l1-4 8-8 3 3-8 8z" />
        </svg>
      </button>
      <button type="button" className={styles.drop} aria-label={`Remove ${clause.text}`} onClick={onDrop}>
        ×
      </button>
    </span>
  );
}
