import { count } from "../lib/format";
import { WORK_STATES, type Work, type WorkState } from "../lib/work";
import { join } from "./Panel";
import styles from "./WorkBar.module.css";

/** One bar with a part for each work state. The figures beside it say the same. */
export function WorkBar({ work }: { work: Work }) {
  return (
    <span className={styles.bar} aria-hidden="true">
      {WORK_STATES.filter(({ state }) => work[state] > 0).map(({ state, label }) => (
        <span
          key={state}
          className={styles[state]}
          style={{ flexGrow: work[state] }}
          title={`${count(work[state])} ${label}`}
        />
      ))}
    </span>
  );
}

/** The colour and pattern of a work state. */
export function WorkSwatch({ state }: { state: WorkState }) {
  return <i className={join(styles.swatch, styles[state])} aria-hidden="true" />;
}
