import { plural } from "../../lib/format";
import type { ConfigChange } from "../../lib/properties";
import { join } from "../../ui/Panel";
import styles from "./ConnectorEditor.module.css";

/** The changed options with their former and new values, and the number of the others. */
export function ConfigDifference({
  changes,
  invalid,
  secret,
  unchanged,
}: {
  changes: readonly ConfigChange[];
  invalid: ReadonlySet<string>;
  /** The options whose new values are not shown. */
  secret: ReadonlySet<string>;
  unchanged: number;
}) {
  return (
    <div
      className={styles.difference}
      data-testid="config-difference"
      role="group"
      aria-label="Difference"
      tabIndex={0}
    >
      {changes.map(({ option, before, after }) => (
        <div key={option}>
          {before !== undefined && <Line sign="−" label="removed" kind="gone" option={option} value={before} />}
          {after !== undefined && (
            <Line
              sign="+"
              label="added"
              kind="new"
              option={option}
              value={secret.has(option) ? "(a new value, not shown)" : after}
              invalid={invalid.has(option)}
            />
          )}
        </div>
      ))}
      {unchanged > 0 && <div className={styles.unchanged}>⋯ {plural(unchanged, "option")} unchanged</div>}
    </div>
  );
}

function Line({
  sign,
  label,
  kind,
  option,
  value,
  invalid,
}: {
  sign: string;
  label: string;
  kind: "gone" | "new";
  option: string;
  value: string;
  invalid?: boolean;
}) {
  return (
    <div className={join(styles.line, styles[kind])}>
      <i aria-label={label}>{sign}</i>
      <span>
        {option}=<b>{value}</b>
        {invalid && <span className={styles.invalid}> ✕ not valid</span>}
      </span>
    </div>
  );
}
