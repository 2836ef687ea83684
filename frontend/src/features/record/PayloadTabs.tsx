import { useState } from "react";
import { bytesUrl } from "../../api/deadLetters";
import type { DeadLetter, Payload } from "../../api/types";
import { bytes } from "../../lib/format";
import { TabRow } from "../../ui/TabRow";
import { Notice, Panel } from "../../ui/Panel";
import { WithheldNotice } from "../../ui/WithheldNotice";
import { HeaderTable } from "../payload/HeaderTable";
import { PayloadView } from "../payload/PayloadView";
import { RawBytes } from "../payload/RawBytes";
import styles from "./Record.module.css";

/** Tabs for the value, key, headers, error and raw bytes of a dead letter. */
export function PayloadTabs({ letter }: { letter: DeadLetter }) {
  const [tab, setTab] = useState("value");
  return (
    <Panel label="Bytes">
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

/** The reason why the bytes of a dead letter's payload are unknown. */
function MissingBytes({ letter, part }: { letter: DeadLetter; part: string }) {
  if (letter.source)
    return (
      <Notice title={`There are no bytes of the ${part}`}>
        A source connector read the record: what is known of it stands under Source record.
      </Notice>
    );
  if (letter.original === "forbidden")
    return <Notice title={`The ${part} was not fetched: not allowed`}>{letter.not_allowed}</Notice>;
  return (
    <Notice title={`The ${part} is not known`}>
      {letter.original === "expired"
        ? "The dead letter only points to it, and Kafka no longer keeps it."
        : "The dead letter does not carry it."}
    </Notice>
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
