import { Link } from "react-router";
import { recordsOf } from "../../lib/filter";
import { count } from "../../lib/format";
import { ALL_TIME } from "../../lib/ranges";
import { WORK_STATES, allWork, type Work } from "../../lib/work";
import { WorkBar, WorkSwatch } from "../../ui/WorkBar";
import styles from "./Groups.module.css";

/** The work on all dead letters of a group, whatever the time range. */
export function GroupWork({ id, work }: { id: number; work: Work }) {
  return (
    <div className={styles.work} data-testid="group-work">
      <span className={styles.workBar}>
        <WorkBar work={work} />
      </span>
      {WORK_STATES.map(({ state, label }) => (
        <span key={state} className="row s nw" style={{ gap: 6 }}>
          <WorkSwatch state={state} />
          {work[state] > 0 ? (
            <Link to={recordsOf({ group: String(id), work: state }, ALL_TIME)}>
              <b>{count(work[state])}</b> {label}
            </Link>
          ) : (
            <span className="t3">0 {label}</span>
          )}
        </span>
      ))}
      <span className="s t3 nw">of {count(allWork(work))} since the start</span>
    </div>
  );
}
