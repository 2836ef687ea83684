import type { DeadLetterRow } from "../../api/types";
import { Broken } from "../../ui/Broken";
import { Button } from "../../ui/controls";
import { Bones, Notice } from "../../ui/Panel";
import { faultOf } from "./fault";
import { RecordRows } from "./RecordRows";
import styles from "./Records.module.css";

interface Props {
  error: Error | null;
  asking: boolean;
  /** Rows of the question before, shown in grey while this one is asked. */
  earlier: readonly DeadLetterRow[];
  columns: readonly string[];
  onAgain: () => void;
}

const NONE: ReadonlySet<number> = new Set();

/** What stands in place of an answer that is not there: being asked, refused or cancelled. */
export function Unanswered({ error, asking, earlier, columns, onAgain }: Props) {
  if (asking && earlier.length === 0) return <Bones rows={14} height={16} />;
  if (asking) {
    return (
      <div className={styles.stale} inert aria-busy="true">
        <RecordRows rows={earlier} at={null} address="" ticked={NONE} columns={columns} onTick={() => undefined} />
      </div>
    );
  }
  if (faultOf(error))
    return <Notice title="This query cannot be read">What is wrong is marked in it: click there to correct it.</Notice>;
  if (error) return <Broken title="The records did not come" error={error} onAgain={onAgain} />;
  return <Notice title="Cancelled, nothing was read" actions={<Button onClick={onAgain}>Ask again</Button>} />;
}
