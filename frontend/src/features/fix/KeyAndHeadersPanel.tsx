import { TextInput } from "@mantine/core";
import { useState } from "react";
import { fitsOneLine } from "../../lib/editing";
import { bytes, plural } from "../../lib/format";
import { Button, LinkButton } from "../../ui/controls";
import { Panel } from "../../ui/Panel";
import { BytesField } from "./BytesField";
import styles from "./Fix.module.css";
import type { HeaderPart, MessageParts } from "./messageParts";

/** The fields of the headers, one row each, in the order of the record, and of the key unless it has a panel. */
export function KeyAndHeadersPanel({
  parts,
  hasKey,
  stripped,
  locked,
  onChange,
}: {
  parts: MessageParts;
  hasKey: boolean;
  stripped: string[];
  locked: boolean;
  onChange: (parts: MessageParts) => void;
}) {
  const [nextId, setNextId] = useState(() => parts.headers.length);
  const replaceHeader = (header: HeaderPart) =>
    onChange({ ...parts, headers: parts.headers.map((old) => (old.id === header.id ? header : old)) });
  const addHeader = () => {
    onChange({
      ...parts,
      headers: [...parts.headers, { id: nextId, name: "", value: new Uint8Array(), masked: false }],
    });
    setNextId(nextId + 1);
  };
  return (
    <Panel
      className={styles.gap}
      title={
        <>
          <h2>{hasKey ? "Key and headers" : "Headers"}</h2>
          <span className="s t3">{plural(parts.headers.length, "header")}, in order</span>
        </>
      }
      aside={<StrippedHeaders names={stripped} />}
    >
      <div className={styles.parts}>
        {hasKey && (
          <div className={styles.part}>
            <span className={`b ${styles.partName}`}>Key</span>
            {parts.key === undefined ? (
              <span className="s t3">hidden from you; it is sent unchanged</span>
            ) : (
              <>
                <BytesField
                  label="Key"
                  value={parts.key}
                  locked={locked}
                  onChange={(key) => onChange({ ...parts, key })}
                />
                <span className={`s t3 nw ${styles.size}`}>{bytes(parts.key?.length)}</span>
              </>
            )}
          </div>
        )}
        {parts.headers.map((header, index) => (
          <div key={header.id} className={styles.part}>
            <TextInput
              size="xs"
              aria-label={`Name of header ${index + 1}`}
              placeholder="name"
              value={header.name}
              disabled={locked || header.masked || !fitsOneLine(header.name)}
              onChange={(event) => replaceHeader({ ...header, name: event.currentTarget.value })}
              spellCheck={false}
              autoComplete="off"
              classNames={{ root: styles.partName!, input: `${styles.input} ${styles.code}` }}
            />
            <BytesField
              label={`Value of header ${index + 1}`}
              value={header.value}
              locked={locked || header.masked}
              onChange={(value) => replaceHeader({ ...header, value })}
            />
            <span className={`s t3 nw ${styles.size}`}>{bytes(header.value?.length)}</span>
            {!locked && !header.masked && (
              <Button
                kind="quiet"
                onClick={() => onChange({ ...parts, headers: parts.headers.filter((other) => other.id !== header.id) })}
                title={`Remove ${header.name || "this header"}`}
              >
                Remove
              </Button>
            )}
          </div>
        ))}
        {!locked && (
          <div>
            <LinkButton onClick={addHeader}>Add a header</LinkButton>
          </div>
        )}
      </div>
    </Panel>
  );
}

function StrippedHeaders({ names }: { names: string[] }) {
  if (names.length === 0) return <span className="s t3">no headers are removed</span>;
  return (
    <span className="s t3" title={names.join("\n")}>
      {plural(names.length, "header name")} of the dead letter {names.length === 1 ? "is" : "are"} removed
    </span>
  );
}
