import { shares, type Figures } from "../../lib/outcome";
import { count } from "../../lib/format";
import { itemState } from "../../lib/states";
import { join } from "../../ui/Panel";
import styles from "./Replays.module.css";

const WIDE_PART = 0.09;

/** A stacked bar of outcomes. Each part has a minimum width, so the bar is not to scale; the numbers beside it are exact. */
export function OutcomeBar({ figures, small }: { figures: Figures; small?: boolean }) {
  const parts = shares(figures);
  const words = parts.map((part) => `${count(part.count)} ${itemState(part.state).label.toLowerCase()}`).join(", ");
  return (
    <div
      className={join(styles.bar, small && styles.smallBar)}
      role="img"
      aria-label={words || "no records"}
      title={words}
    >
      {parts.map((part) => (
        <span key={part.state} className={styles[part.state]} style={{ flexGrow: part.count }}>
          {!small && part.count / figures.total > WIDE_PART && ["passed", "queued", "skipped"].includes(part.state) && (
            <b>
              {count(part.count)} {itemState(part.state).label.toLowerCase()}
            </b>
          )}
        </span>
      ))}
    </div>
  );
}
