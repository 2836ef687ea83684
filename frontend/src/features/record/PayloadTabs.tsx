import { useState } from "react";
import type { DeadLetter, Payload } from "../../api/types";
import { bytes, plural } from "../../lib/format";
import { TabRow } from "../../ui/TabRow";
import { Notice, Panel } from "../../ui/Panel";
import { WithheldNotice } from "../../ui/WithheldNotice";
import { HeaderTable } from "./HeaderTable";
import { HexView } from "./HexView";
import { PayloadView } from "./PayloadView";
import styles from "./Record.module.css";

/** Tabs for the value, key, headers, error and raw bytes of a dead letter. */
export function PayloadTabs({ letter }: { letter: DeadLetter }) {
  const [tab, setTab] = useState("value");
  return (
    <Panel label="Bytes" className={styles.gap}>
      <TabRow
        inset
        value={tab}
        onChange={setTab}
        items={[
          { value: "value", label: "Value", note: sizeOf(letter.value) },
          { value: "key", label: "Key", note: sizeOf(letter.key) },
          { value: "headers", label: "Headers", note: String(letter.headers.length) },
          { value: "error", label: "Error" },
          ...(letter.context.size === null
            ? []
            : [{ value: "context", label: "Dead letter", note: bytes(letter.context.size) }]),
          { value: "raw", label: "Raw hex" },
        ]}
      />
      {tab === "value" && <PayloadView letter={letter} part="value" />}
      {tab === "key" && <PayloadView letter={letter} part="key" />}
      {tab === "context" && <PayloadView letter={letter} part="context" />}
      {tab === "headers" && <HeaderTable headers={letter.headers} />}
      {tab === "error" &&
        (letter.exception?.text ? (
          <pre className={styles.trace} role="group" tabIndex={0} aria-label="Trace">
            {letter.exception.text}
          </pre>
        ) : (
          <Notice title="No trace came with this dead letter" />
        ))}
      {tab === "raw" && <RawBytes letter={letter} />}
    </Panel>
  );
}

/** Return the size of a payload, or a dash if its bytes are missing. */
function sizeOf(payload: Payload): string {
  return payload.size === null && !payload.is_null ? "–" : bytes(payload.size);
}

function RawBytes({ letter }: { letter: DeadLetter }) {
  const [part, payload] = letter.value.base64
    ? (["value", letter.value] as const)
    : (["dead letter", letter.context] as const);
  if (letter.value.withheld || letter.context.withheld) return <WithheldNotice />;
  if (!payload.base64)
    return <Notice title="There are no bytes">The value is {payload.is_null ? "null" : "not kept"}.</Notice>;
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
