import { useState } from "react";
import { bytesUrl } from "../../api/deadLetters";
import { useRecordFields } from "../../api/fixes";
import type { DeadLetter, Payload } from "../../api/types";
import { bytes } from "../../lib/format";
import { TabRow } from "../../ui/TabRow";
import { Notice, Panel } from "../../ui/Panel";
import { WithheldNotice } from "../../ui/WithheldNotice";
import { HeaderTable } from "../payload/HeaderTable";
import { PayloadView } from "../payload/PayloadView";
import { RawBytes } from "../payload/RawBytes";
import { MissingBytes } from "./MissingBytes";
import styles from "./Record.module.css";

/** Tabs for the value, key, headers, error and raw bytes of a dead letter. */
export function PayloadTabs({ letter }: { letter: DeadLetter }) {
  const [tab, setTab] = useState("value");
  const named = useRecordFields(letter.id).data?.results;
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
      {(tab === "value" || tab === "key" || tab === "context") && (
        <PayloadView
          key={tab}
          payload={letter[tab]}
          part={tab === "context" ? "dead letter" : tab}
          href={bytesUrl(letter.id, tab)}
          {...(tab === "value" && named && { marks: named })}
          missing={<MissingBytes letter={letter} part={tab} />}
        />
      )}
      {tab === "headers" && <HeaderTable headers={letter.headers} />}
      {tab === "error" &&
        (letter.exception?.text ? (
          <pre className={styles.trace} role="group" tabIndex={0} aria-label="Trace">
            {letter.exception.text}
          </pre>
        ) : (
          <Notice title="No trace came with this dead letter" />
        ))}
      {tab === "raw" && <LetterRawBytes letter={letter} />}
    </Panel>
  );
}

/** Return the size of a payload, or a dash if its bytes are missing. */
function sizeOf(payload: Payload): string {
  return payload.size === null && !payload.is_null ? "–" : bytes(payload.size);
}

function LetterRawBytes({ letter }: { letter: DeadLetter }) {
  const [part, payload] = letter.value.base64
    ? (["value", letter.value] as const)
    : (["dead letter", letter.context] as const);
  if (letter.value.withheld || letter.context.withheld) return <WithheldNotice />;
  if (!payload.base64)
    return <Notice title="There are no bytes">The value is {payload.is_null ? "null" : "not kept"}.</Notice>;
  return <RawBytes part={part} payload={payload} />;
}
