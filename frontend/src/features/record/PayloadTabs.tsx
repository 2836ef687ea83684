import { useState } from "react";
import { useDecoded, type RecordPart } from "../../api/decoded";
import { bytesUrl } from "../../api/deadLetters";
import { useRecordFields } from "../../api/fixes";
import type { RecordField } from "../../api/replayTypes";
import type { DeadLetter, Payload } from "../../api/types";
import { bytes } from "../../lib/format";
import { TabRow } from "../../ui/TabRow";
import { Notice, Panel, Strip } from "../../ui/Panel";
import { WithheldNotice } from "../../ui/WithheldNotice";
import { DecodedView, DecoderReports } from "../payload/DecodedView";
import { HeaderTable } from "../payload/HeaderTable";
import { MaskedLine, MaskedNotice } from "../payload/MaskedLine";
import { PayloadView } from "../payload/PayloadView";
import { RawBytes } from "../payload/RawBytes";
import { isDecodable } from "../../lib/decodable";
import { MissingBytes } from "./MissingBytes";
import { MaskedMark } from "./Reveal";
import styles from "./Record.module.css";

const NO_FIELDS: RecordField[] = [];

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
      {(tab === "value" || tab === "key") && (
        <PartView key={tab} letter={letter} part={tab} marks={tab === "value" && named ? named : NO_FIELDS} />
      )}
      {tab === "context" &&
        (letter.context.masked ? (
          <MaskedNotice />
        ) : (
          <PayloadView
            payload={letter.context}
            part="dead letter"
            href={bytesUrl(letter.id, tab)}
            missing={<MissingBytes letter={letter} part={tab} />}
          />
        ))}
      {tab === "headers" && (
        <HeaderTable
          headers={letter.headers}
          maskOf={(header) =>
            header.masked && <MaskedMark letter={letter} what={{ part: "header", header: header.name }} />
          }
        />
      )}
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

/** A key or value: decoded if a decoder fits, and otherwise as text with the reasons. */
function PartView(props: { letter: DeadLetter; part: RecordPart; marks: readonly RecordField[] }) {
  const { letter, part } = props;
  const { masked, withheld } = letter[part];
  return (
    <>
      <MaskedLine payload={letter[part]} part={part}>
        <MaskedMark letter={letter} what={{ part }} />
      </MaskedLine>
      {!(masked && withheld) && <PartContent {...props} />}
    </>
  );
}

function PartContent({ letter, part, marks }: { letter: DeadLetter; part: RecordPart; marks: readonly RecordField[] }) {
  const payload = letter[part];
  const { data: decoded, error } = useDecoded(letter.id, part, isDecodable(letter, part));
  if (decoded?.format) return <DecodedView decoded={decoded} base64={payload.base64} marks={marks} />;
  return (
    <>
      {decoded && <DecoderReports attempts={decoded.attempts} namesSchema={decoded.named_schema !== null} />}
      {error && (
        <Strip tone="warn">
          The {part} could not be decoded: {error.message}
        </Strip>
      )}
      <PayloadView
        payload={payload}
        part={part}
        href={bytesUrl(letter.id, part)}
        marks={marks}
        missing={<MissingBytes letter={letter} part={part} />}
      />
    </>
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
  if (letter.withheld && (letter.value.withheld || letter.context.withheld)) return <WithheldNotice />;
  if (payload.withheld) return <MaskedNotice />;
  if (!payload.base64)
    return <Notice title="There are no bytes">The value is {payload.is_null ? "null" : "not kept"}.</Notice>;
  return <RawBytes part={part} payload={payload} />;
}
