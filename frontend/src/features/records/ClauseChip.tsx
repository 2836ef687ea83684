import type { Clause } from "../../lib/filter";
import { isGroup, parseClause } from "../../lib/query";
import { join } from "../../ui/Panel";
import styles from "./QueryBar.module.css";

interface Props {
  clause: Clause;
  groupLabels: Map<string, string>;
  /** The part of the text that caused a query error. */
  errorRange: { start: number; end: number } | null;
  /** Without it a click edits the clause. */
  onToggle: (() => void) | undefined;
  onEdit: () => void;
  onRemove: () => void;
}

/** A clause of the query. A click toggles it, or edits it after an error; the icons edit and remove it. */
export function ClauseChip({ clause, groupLabels, errorRange, onToggle, onEdit, onRemove }: Props) {
  const { field, values, exclude } = parseClause(clause.text);
  const shown = field === "group" ? values.map((value) => groupLabels.get(value) ?? value) : values;
  const body = errorRange ? (
    <button type="button" className={join(styles.body, "mono")} title="Click to correct it" onClick={onEdit}>
      {clause.text.slice(0, errorRange.start)}
      <mark className={styles.errorRange}>{clause.text.slice(errorRange.start, errorRange.end)}</mark>
      {clause.text.slice(errorRange.end)}
    </button>
  ) : (
    <button
      type="button"
      className={styles.body}
      title={!onToggle ? "Click to edit" : clause.off ? "Switched off; click to switch on" : "Click to switch off"}
      aria-pressed={onToggle && !clause.off}
      onClick={onToggle ?? onEdit}
    >
      <em>
        {exclude ? "not " : ""}
        {isGroup(clause.text) ? "" : (field ?? "text").replace("_", " ")}
      </em>{" "}
      {shown.join(" or ")}
    </button>
  );
  return (
    <span
      className={join(
        styles.token,
        exclude && styles.negated,
        clause.off && styles.off,
        errorRange !== null && styles.invalid,
      )}
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
      <button type="button" className={styles.remove} aria-label={`Remove ${clause.text}`} onClick={onRemove}>
        ×
      </button>
    </span>
  );
}
