import { TextInput } from "@mantine/core";
import { useState } from "react";
import { fitsOneLine } from "../../lib/editing";
import { bytes, plural } from "../../lib/format";
import { Button, LinkButton } from "../../ui/controls";
import { Panel } from "../../ui/Panel";
import { BytesField } from "./BytesField";
import styles from "./Fix.module.css";
import type { HeaderPart, Parts } from "./parts";

/** Key and headers, one a row, in their order, duplicates included. */
export function HeaderRows({
  parts,
  stripped,
  locked,
  onChange,
}: {
  parts: Parts;
  stripped: string[];
  locked: boolean;
  onChange: (parts: Parts) => void;
}) {
  const [next, setNext] = useState(() => parts.headers.length);
  const put = (header: HeaderPart) =>
    onChange({ ...parts, headers: parts.headers.map((one) => (one.id === header.id ? header : one)) });
  const add = () => {
    onChange({ ...parts, headers: [...parts.headers, { id: next, name: "", value: new Uint8Array() }] });
    setNext(next + 1);
  };
  return (
    <Panel
      className={styles.gap}
      title={
        <>
          <h2>Key and headers</h2>
          <span className="s t3">{plural(parts.headers.length, "header")}, in their order</span>
        </>
      }
      aside={<Left names={stripped} />}
    >
      <div className={styles.parts}>
        <div className={styles.part}>
          <span className={`b ${styles.partName}`}>Key</span>
          <BytesField label="Key" value={parts.key} locked={locked} onChange={(key) => onChange({ ...parts, key })} />
          <span className={`s t3 nw ${styles.size}`}>{bytes(parts.key?.length)}</span>
        </div>
        {parts.headers.map((header, index) => (
          <div key={header.id} className={styles.part}>
            <TextInput
              size="xs"
              aria-label={`Name of header ${index + 1}`}
              placeholder="name"
              value={header.name}
              disabled={locked || !fitsOneLine(header.name)}
              onChange={(event) => put({ ...header, name: event.currentTarget.value })}
              spellCheck={false}
              autoComplete="off"
              classNames={{ root: styles.partName!, input: `${styles.input} ${styles.code}` }}
            />
            <BytesField
              label={`Value of header ${index + 1}`}
              value={header.value}
              locked={locked}
              onChange={(value) => put({ ...header, value })}
            />
            <span className={`s t3 nw ${styles.size}`}>{bytes(header.value?.length)}</span>
            {!locked && (
              <Button
                kind="quiet"
                onClick={() => onChange({ ...parts, headers: parts.headers.filter((one) => one.id !== header.id) })}
                title={`Remove ${header.name || "this header"}`}
              >
                Remove
              </Button>
            )}
          </div>
        ))}
        {!locked && (
          <div>
            <LinkButton onClick={add}>Add a header</LinkButton>
          </div>
        )}
      </div>
    </Panel>
  );
}

function Left({ names }: { names: string[] }) {
  if (names.length === 0) return <span className="s t3">none is left off</span>;
  return (
    <span className="s t3" title={names.join("\n")}>
      {plural(names.length, "header name")} of the dead letter {names.length === 1 ? "is" : "are"} left off
    </span>
  );
}
