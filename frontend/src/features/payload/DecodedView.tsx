import { useMemo, useState } from "react";
import type { Decoded, DecodedField, DecoderReport } from "../../api/decoded";
import type { RecordField } from "../../api/replayTypes";
import { ascii, fromBase64, hex, hexRows } from "../../lib/bytes";
import { bytes, count } from "../../lib/format";
import { LinkButton } from "../../ui/controls";
import { join } from "../../ui/Panel";
import styles from "./Decoded.module.css";

const ROWS = 200;
const WIDTH = 8;
const HEX_ROWS = 64;

/** A decoded value: its fields with types, beside the raw bytes. A field marks its bytes. */
export function DecodedView({
  decoded,
  base64,
  marks,
}: {
  decoded: Decoded;
  /** The first bytes of the value. */
  base64: string;
  /** The fields that the error names. */
  marks: readonly RecordField[];
}) {
  const [chosen, setChosen] = useState<DecodedField | null>(null);
  const [limit, setLimit] = useState(ROWS);
  const named = decoded.fields.find((row) => marks.some(({ name }) => name === row.path || name === row.name));
  const shown = chosen ?? named ?? null;
  return (
    <div data-testid="decoded">
      <div className={styles.tools}>
        Decoder: <b>{decoded.format}</b>
        {decoded.schema && `, schema id from ${decoded.schema.place}`}
      </div>
      {decoded.notes.map((note) => (
        <div key={note} className={styles.note}>
          {note}
        </div>
      ))}
      <div className={styles.two}>
        <div className={styles.fields} role="group" tabIndex={0} aria-label="Fields">
          <div className={join(styles.field, styles.head)}>
            <span>Field</span>
            <span>Type</span>
            <span>Value</span>
            <i>Bytes</i>
          </div>
          {decoded.fields.slice(0, limit).map((row, index) => (
            <FieldRow
              key={index}
              row={row}
              isNamed={row === named}
              isChosen={row === chosen}
              onChoose={() => setChosen(row === chosen ? null : row)}
            />
          ))}
          {decoded.fields.length > limit && (
            <div className={styles.more}>
              <LinkButton onClick={() => setLimit(limit + ROWS)}>
                {`Next ${Math.min(ROWS, decoded.fields.length - limit)} fields`}
              </LinkButton>
            </div>
          )}
          {decoded.is_cut && (
            <div className={styles.more}>The table ends after {count(decoded.fields.length)} fields.</div>
          )}
        </div>
        <RawColumn decoded={decoded} base64={base64} marked={shown} />
      </div>
    </div>
  );
}

function FieldRow({
  row,
  isNamed,
  isChosen,
  onChoose,
}: {
  row: DecodedField;
  isNamed: boolean;
  isChosen: boolean;
  onChoose: () => void;
}) {
  return (
    <div className={join(styles.field, isNamed && styles.named, isChosen && styles.chosen)}>
      <span className="mono" style={{ paddingLeft: row.depth * 14 }} title={row.path}>
        {row.start === null ? (
          row.name
        ) : (
          <button type="button" className={styles.name} aria-pressed={isChosen} onClick={onChoose}>
            {row.name}
          </button>
        )}
      </span>
      <span className="t3" title={row.type}>
        {row.type}
      </span>
      <span className="mono" title={row.text}>
        {row.text}
      </span>
      <i>{range(row)}</i>
    </div>
  );
}

/** Return the bytes of a field as they are written: `5–21`, or a dash for a field without bytes. */
export function range({ start, end }: Pick<DecodedField, "start" | "end">): string {
  if (start === null || end === null || start === end) return "–";
  return end - start === 1 ? String(start) : `${start}–${end - 1}`;
}

function RawColumn({ decoded, base64, marked }: { decoded: Decoded; base64: string; marked: DecodedField | null }) {
  const [rows, setRows] = useState(HEX_ROWS);
  const data = useMemo(() => fromBase64(base64), [base64]);
  const prefix = decoded.schema?.prefix_bytes ?? 0;
  const kind = (at: number) =>
    marked?.start != null && marked.end !== null && marked.start <= at && at < marked.end
      ? styles.hit
      : at >= prefix
        ? undefined
        : at === 0
          ? styles.magic
          : styles.id;
  return (
    <div className={styles.raw} role="group" tabIndex={0} aria-label="Raw bytes">
      <div className={styles.rawHead}>
        Raw bytes, {decoded.size !== null && data.length < decoded.size && `the first ${bytes(data.length)} of `}
        {bytes(decoded.size)}
      </div>
      {hexRows(data, 0, rows * (16 / WIDTH), WIDTH).map((row) => (
        <div key={row.at} className={styles.hex}>
          <i>{hex(row.at, 4)}</i>
          <span>
            {row.bytes.map((byte, index) => (
              <b key={index} className={kind(row.at + index)}>
                {hex(byte)}
              </b>
            ))}
          </span>
          <span className={styles.ascii}>
            {row.bytes.map((byte, index) => (
              <b key={index} className={kind(row.at + index)}>
                {ascii(byte)}
              </b>
            ))}
          </span>
        </div>
      ))}
      {rows * 16 < data.length && (
        <div className={styles.more}>
          <LinkButton onClick={() => setRows(rows * 4)}>More bytes</LinkButton>
        </div>
      )}
      {prefix > 0 && (
        <div className={styles.legend}>
          <span>
            <b className={styles.magic}>{hex(data[0] ?? 0)}</b> magic byte
          </span>
          <span>
            <b className={styles.id}>{hex(data[prefix - 1] ?? 0)}</b> id {decoded.schema?.id}
          </span>
          {marked?.start != null && marked.start < data.length && (
            <span>
              <b className={styles.hit}>{hex(data[marked.start] ?? 0)}</b> {marked.path}
            </span>
          )}
        </div>
      )}
    </div>
  );
}

/** The reasons why no decoder fits, for each that was tried. */
export function DecoderReports({
  attempts,
  namesSchema,
}: {
  attempts: readonly DecoderReport[];
  /** Whether the bytes name a schema; else the first reason is that they name none. */
  namesSchema: boolean;
}) {
  const first = attempts[0];
  if (!first) return null;
  return (
    <details className={styles.reports}>
      <summary>
        Not decoded: {namesSchema ? first.reason : "the bytes name no schema, and no other format fits"}
        {first.outcome === "unavailable" ? ". The bytes are shown." : ""}
      </summary>
      <table>
        <tbody>
          {attempts.map((one) => (
            <tr key={one.decoder}>
              <th scope="row">{one.decoder}</th>
              <td>{one.reason}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
