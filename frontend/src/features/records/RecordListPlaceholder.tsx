import type { DeadLetterRow } from "../../api/types";
import { LoadError } from "../../ui/LoadError";
import { Button } from "../../ui/controls";
import { SkeletonRows, Notice } from "../../ui/Panel";
import { queryErrorOf } from "./queryError";
import { RecordRows } from "./RecordRows";
import styles from "./Records.module.css";

interface Props {
  error: Error | null;
  asking: boolean;
  /** The previous rows, shown in grey while new ones load. */
  earlier: readonly DeadLetterRow[];
  columns: readonly string[];
  onAgain: () => void;
}

const NONE_TICKED: ReadonlySet<number> = new Set();

/** Replaces the list while it loads, or after an error or a cancelled search. */
export function RecordListPlaceholder({ error, asking, earlier, columns, onAgain }: Props) {
  if (asking && earlier.length === 0) return <SkeletonRows rows={14} height={16} />;
  if (asking) {
    return (
      <div className={styles.stale} inert aria-busy="true">
        <RecordRows
          rows={earlier}
          at={null}
          address=""
          ticked={NONE_TICKED}
          columns={columns}
          onTick={() => undefined}
        />
      </div>
    );
  }
  if (queryErrorOf(error))
    return <Notice title="This query cannot be read">The error is marked in the query. Click it to edit.</Notice>;
  if (error) return <LoadError title="The records could not be loaded" error={error} onAgain={onAgain} />;
  return <Notice title="Search cancelled" actions={<Button onClick={onAgain}>Try again</Button>} />;
}
