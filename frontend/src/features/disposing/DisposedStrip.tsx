import { useState } from "react";
import type { Disposal } from "../../api/disposals";
import { useMayWrite } from "../../api/session";
import { dateMinute, quoted } from "../../lib/format";
import { useZone } from "../../lib/zone";
import { Button } from "../../ui/controls";
import { Strip } from "../../ui/Panel";
import { DecideDialog } from "./DecideDialog";
import styles from "./Disposing.module.css";
import { disposedWord } from "./words";

/** Says of a record that it is not to be replayed: who decided it, when and why. */
export function DisposedStrip({ record, disposal }: { record: number; disposal: Disposal }) {
  const { zone } = useZone();
  const may = useMayWrite();
  const [asking, setAsking] = useState(false);
  return (
    <Strip tone="waiting">
      <span className={styles.strip} data-testid="disposal">
        <span>
          {disposedWord(disposal.kind)} by <b>{disposal.by ?? "somebody"}</b>, {dateMinute(disposal.at, zone)}:{" "}
          {quoted(disposal.reason)} No replay sends it.
        </span>
        <Button small barred={may.allowed ? undefined : may.reason} onClick={() => setAsking(true)}>
          Restore…
        </Button>
      </span>
      <DecideDialog
        decision={asking ? "restore" : null}
        what={{ ids: [record] }}
        of="this record"
        onClose={() => setAsking(false)}
      />
    </Strip>
  );
}
