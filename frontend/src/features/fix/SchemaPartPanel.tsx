import { lazy, useEffect, useRef, useState } from "react";
import { useEncode, type Decoded, type Encoded, type RecordPart } from "../../api/decoded";
import { fromBase64 } from "../../lib/bytes";
import type { Part } from "../../lib/editing";
import { bytes, plural } from "../../lib/format";
import { LinkButton } from "../../ui/controls";
import { Chip, Panel } from "../../ui/Panel";
import { useSyncedScroll } from "../../ui/useSyncedScroll";
import styles from "./Fix.module.css";

// It suspends the whole page, so that no panel below it moves when it has loaded.
const ValueEditor = lazy(() => import("./ValueEditor"));
const ENCODE_DELAY_MS = 500;

/** A decoded key or value as JSON: an edit is checked against the schema, and encoded again when it fits. */
export function SchemaPartPanel({
  id,
  part,
  original,
  draft,
  locked,
  onChange,
  onUnencoded,
  onBytes,
}: {
  id: string;
  part: RecordPart;
  original: Decoded;
  /** The decoded draft; null if there is none. */
  draft: Decoded | null;
  locked: boolean;
  onChange: (bytes: Part) => void;
  /** Whether the editor has something else than the draft, because it is not encoded yet or can't be. */
  onUnencoded: (isUnencoded: boolean) => void;
  /** Edit the bytes instead. */
  onBytes: () => void;
}) {
  const schema = original.schema!;
  const newer = schema.takes_versions ? schema.versions.filter((version) => version > (schema.version ?? 0)) : [];
  const name = part === "key" ? "Key" : "Value";
  const [text, setText] = useState(() => draft?.json ?? original.json ?? "");
  const [version, setVersion] = useState<number | null>(
    draft?.schema && draft.schema.id !== schema.id ? draft.schema.version : null,
  );
  const scrollTogether = useSyncedScroll();
  const { mutate, data, error } = useEncode(id);
  const wanted = `${text}${version}`;
  const [encoded, setEncoded] = useState(wanted); // the draft has its bytes
  const [answered, setAnswered] = useState(wanted);
  const callbacks = useRef({ onChange, onUnencoded });
  useEffect(() => void (callbacks.current = { onChange, onUnencoded }));
  const isUnencoded = wanted !== encoded;
  useEffect(() => {
    callbacks.current.onUnencoded(isUnencoded);
    return () => callbacks.current.onUnencoded(false);
  }, [isUnencoded]);
  const asked = useRef(wanted);
  useEffect(() => {
    if (asked.current === wanted) return;
    const timer = setTimeout(() => {
      asked.current = wanted;
      mutate(
        { part, json: text, ...(version !== null && { subject: schema.subject, version }) },
        {
          onSuccess: (answer) => {
            // A later edit has its own answer.
            if (answer.base64 === null || asked.current !== wanted) return;
            callbacks.current.onChange(new Uint8Array(fromBase64(answer.base64)));
            setEncoded(wanted);
          },
          onSettled: () => setAnswered(wanted),
        },
      );
    }, ENCODE_DELAY_MS);
    return () => clearTimeout(timer);
  }, [part, text, version, wanted, mutate, schema.subject]);
  return (
    <Panel
      label={name}
      title={
        <>
          <h2>{name}</h2>
          <Chip>{original.format}</Chip>
          <span className="s t3">
            {schema.type_name}, {schema.subject ?? "no subject"}
          </span>
        </>
      }
      aside={
        <>
          {newer.length > 0 && (
            <label className="s t2">
              Encode with{" "}
              <select
                className={styles.version}
                value={version ?? ""}
                disabled={locked}
                onChange={(event) => setVersion(event.currentTarget.value ? Number(event.currentTarget.value) : null)}
              >
                <option value="">
                  id {schema.id} again{schema.version === null ? "" : `, version ${schema.version}`}
                </option>
                {newer.map((one) => (
                  <option key={one} value={one}>
                    version {one}
                  </option>
                ))}
              </select>
            </label>
          )}
          <LinkButton onClick={onBytes}>{locked ? "Show the bytes" : "Edit the bytes"}</LinkButton>
        </>
      }
    >
      <div className={styles.decodedPanes} onScrollCapture={scrollTogether}>
        <div className={styles.pane}>
          <header className={styles.paneHead}>
            <b>Original, decoded</b>
            <span className="s t3">
              read only, {bytes(original.size)}. The numbers on the left are offsets in the JSON.
            </span>
          </header>
          <ValueEditor label={`Original ${part}`} side="original" text={original.json ?? ""} other={text} />
        </div>
        {(!locked || text !== original.json) && (
          <div className={styles.pane}>
            <header className={styles.paneHead}>
              <b>{locked ? "Your edit" : "Edit as JSON"}</b>
              <span className="sp" />
              <EncodeStatus encoded={data} isPending={answered !== wanted} error={error} />
            </header>
            <ValueEditor
              label={`Edited ${part}`}
              side="edited"
              text={text}
              other={original.json ?? ""}
              locked={locked}
              onChange={setText}
            />
          </div>
        )}
      </div>
      {isUnencoded && answered === wanted && (
        <div className={styles.problems} role="alert" aria-label="Problems">
          {data && (
            <ul>
              {data.problems.map((one, index) => (
                <li key={index}>
                  <b className="mono">{one.path || part}</b> {one.message}
                </li>
              ))}
            </ul>
          )}
          <div className="t3">The draft keeps the last value that fits.</div>
        </div>
      )}
    </Panel>
  );
}

function EncodeStatus({
  encoded,
  isPending,
  error,
}: {
  encoded: Encoded | undefined;
  isPending: boolean;
  error: Error | null;
}) {
  if (isPending) return <span className="s t3">Checking…</span>;
  if (error)
    return (
      <span className="s failed" role="status">
        ✕ {error.message}
      </span>
    );
  if (!encoded) return null;
  if (encoded.base64 === null)
    return (
      <span className="s failed b" role="status">
        ✕ {plural(encoded.problems.length, "problem")}
      </span>
    );
  if (encoded.identical)
    return (
      <span className="s t3" role="status">
        identical byte for byte
      </span>
    );
  return (
    <span className="s" role="status">
      <b className="passed">✓ fits the schema</b>, encoded with id {encoded.schema_id}: {bytes(encoded.original_size)} →{" "}
      {bytes(encoded.size)}
      {encoded.unchanged !== null && `; ${bytes(encoded.unchanged)} unchanged`}
    </span>
  );
}
