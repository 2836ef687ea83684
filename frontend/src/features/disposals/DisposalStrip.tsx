import { useState } from "react";
import type { Disposal } from "../../api/disposals";
import { useMayWrite } from "../../api/session";
import { dateMinute, quoted } from "../../lib/format";
import { useZone } from "../../lib/zone";
import { Button } from "../../ui/controls";
import { Strip } from "../../ui/Panel";
import { disposalLabel } from "./decisions";
import { DisposalDialog } from "./DisposalDialog";
import styles from "./Disposals.module.css";

/** The disposal of a record: the person, the time and the reason. */
export function DisposalStrip({ record, disposal }: { record: number; disposal: Disposal }) {
  const { zone } = useZone();
  const may = useMayWrite();
  const [asking, setAsking] = useState(false);
  return (
    <Strip tone="waiting">
      <span className={styles.strip} data-testid="disposal">
        <span>
          {disposalLabel(disposal.kind)} by <b>{disposal.by ?? "somebody"}</b>, {dateMinute(disposal.at, zone)}:{" "}
          {quoted(disposal.reason)} Replays skip it.
        </span>
        <Button small barred={may.allowed ? undefined : may.reason} onClick={() => setAsking(true)}>
          Restore…
        </Button>
      </span>
      <DisposalDialog
        decision={asking ? "restore" : null}
        what={{ ids: [record] }}
        subject="this record"
        onClose={() => setAsking(false)}
      />
    </Strip>
  );
}
