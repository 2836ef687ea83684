import type { ReactNode } from "react";
import type { Payload } from "../../api/types";
import { maskedText } from "../../lib/masked";
import { Notice } from "../../ui/Panel";
import styles from "./Payload.module.css";

/** A line that names what masking rules hide of a payload from the person; nothing if they hide nothing. */
export function MaskedLine({ payload, part, children }: { payload: Payload; part: string; children?: ReactNode }) {
  if (!payload.masked) return null;
  return (
    <div className={styles.tools} data-testid="masked-line">
      <span>{maskedText(part, payload, payload.withheld ? null : (payload.text ?? ""))}</span>
      {children}
    </div>
  );
}

/** Replaces bytes that cannot be shown with some of their fields masked. */
export function MaskedNotice() {
  return (
    <Notice title="Content masked">A masking rule hides these bytes. The other tabs show what you may see.</Notice>
  );
}
