import type { Payload } from "../../api/types";
import { bytes, plural } from "../../lib/format";
import { HexView } from "./HexView";
import styles from "./Payload.module.css";

/** The bytes of a payload as hex, with a line that says how many are shown. */
export function RawBytes({ part, payload }: { part: string; payload: Payload }) {
  return (
    <>
      <div className={styles.tools}>
        The {part}’s bytes,{" "}
        {payload.size !== null && payload.shown < payload.size
          ? `the first ${bytes(payload.shown)} of ${bytes(payload.size)}`
          : plural(payload.size ?? 0, "byte")}
      </div>
      <HexView base64={payload.base64} error={payload.parse_error?.byte ?? null} />
    </>
  );
}
