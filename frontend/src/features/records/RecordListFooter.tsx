import { PAGE_SIZE } from "../../api/deadLetters";
import { plural } from "../../lib/format";
import { LinkButton } from "../../ui/controls";
import { join } from "../../ui/Panel";
import styles from "./Records.module.css";

interface Props {
  loaded: number;
  partial: boolean;
  loading: boolean;
  onOlder: (() => void) | undefined;
}

/** The number of loaded rows, the keyboard shortcuts, and a button for older rows. */
export function RecordListFooter({ loaded, partial, loading, onOlder }: Props) {
  return (
    <div className={join("row s t3", styles.footer)}>
      <span>{plural(loaded, "row")} loaded</span>
      <span className="sp" />
      <span className={styles.keys}>
        <kbd>j</kbd> <kbd>k</kbd> move
      </span>
      <span className={styles.keys}>
        <kbd>↵</kbd> open
      </span>
      <span className={styles.keys}>
        <kbd>x</kbd> tick
      </span>
      <span className={styles.keys}>
        <kbd>/</kbd> filter
      </span>
      {onOlder && <LinkButton onClick={onOlder}>{loading ? "Loading…" : `Older ${PAGE_SIZE}`}</LinkButton>}
      {!onOlder && <span>{partial ? "stopped at 2 s; there may be more" : "no older records in this time range"}</span>}
    </div>
  );
}
