import { useState, type ReactNode } from "react";
import { useDecoded, type SchemaUse } from "../../api/decoded";
import type { DeadLetter } from "../../api/types";
import { CopyField } from "../../ui/CopyField";
import { LinkButton } from "../../ui/controls";
import { Chip, Facts, Panel } from "../../ui/Panel";
import { jsonError } from "../../lib/json";
import { spacedJson } from "../../lib/spacedJson";
import { isDecodable } from "../../lib/decodable";
import styles from "./Record.module.css";

const TYPES: Record<SchemaUse["type"], string> = { AVRO: "Avro", PROTOBUF: "Protobuf", JSON: "JSON Schema" };
const SHOWN_LINES = 12;
const LINE = 44; // characters of the panel's width

/** The schema of the value: where it is registered, and its text. */
export function SchemaPanel({ letter }: { letter: DeadLetter }) {
  const schema = useDecoded(letter.id, "value", isDecodable(letter, "value")).data?.schema;
  const [isOpen, setOpen] = useState(false);
  if (!schema) return null;
  const lines = readable(schema).split("\n");
  return (
    <Panel
      label="Schema"
      title={
        <>
          <h2>Schema</h2>
          <Chip>{TYPES[schema.type]}</Chip>
        </>
      }
      aside={
        lines.length > SHOWN_LINES && (
          <LinkButton onClick={() => setOpen(!isOpen)}>{isOpen ? "Show less" : "Open in full"}</LinkButton>
        )
      }
    >
      <div className={styles.schema}>
        <Facts
          rows={[
            [
              "Subject",
              <span key="s">{schema.subject ? <span className="mono">{schema.subject}</span> : "none"}</span>,
            ],
            ["Id, version", <Version key="v" schema={schema} />],
            ...(schema.type_name
              ? ([
                  [
                    "Record",
                    <span key="r" className="mono">
                      {schema.type_name}
                    </span>,
                  ],
                ] as [string, ReactNode][])
              : []),
            ...(schema.references.length > 0
              ? ([
                  [
                    "Refers to",
                    <span key="f" className="mono">
                      {schema.references.join(", ")}
                    </span>,
                  ],
                ] as [string, ReactNode][])
              : []),
            ["Registry", schema.registry],
          ]}
        />
        <pre className={styles.schemaText} role="group" tabIndex={0} aria-label="Schema text">
          {lines.slice(0, isOpen ? undefined : SHOWN_LINES).join("\n")}
        </pre>
        {isOpen && <CopyField label="the schema" text={schema.text} />}
      </div>
    </Panel>
  );
}

function Version({ schema: { id, version, versions, compatibility } }: { schema: SchemaUse }) {
  return (
    <span>
      <b>{id}</b>
      {version === null ? (
        <span className="t3">, the registry lists no version with it</span>
      ) : (
        <>
          , version <b>{version}</b>
          <span className="t3">
            {versions.length > 0 && ` of ${versions.length}`}
            {compatibility && `, ${compatibility}`}
          </span>
        </>
      )}
    </span>
  );
}

/** Return the text of a schema with line breaks. JSON gets spaces; its numbers and names stay as they are written. */
function readable({ type, text }: SchemaUse): string {
  if (type === "PROTOBUF") return text.trim();
  return jsonError(text) ? text : spacedJson(text, LINE);
}
