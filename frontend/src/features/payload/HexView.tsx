import { useMemo, useState } from "react";
import { ascii, fromBase64, hex, hexRows, nearStart } from "../../lib/bytes";
import { LinkButton } from "../../ui/controls";
import { join } from "../../ui/Panel";
import styles from "./Payload.module.css";

const ROWS = 64;

export function HexView({ base64, error }: { base64: string; error: number | null }) {
  const [rows, setRows] = useState(ROWS);
  const data = useMemo(() => fromBase64(base64), [base64]);
  return (
    <div className={join(styles.hexes, styles.first)} data-testid="hex" role="group" tabIndex={0} aria-label="Bytes">
      <HexRows data={data} from={0} rows={rows} error={error} near={error === null ? 0 : nearStart(data, error)} />
      {rows * 16 < data.length && (
        <div className={styles.more}>
          <LinkButton onClick={() => setRows(rows + 4 * ROWS)}>
            Next {Math.min(4 * ROWS * 16, data.length - rows * 16)} bytes
          </LinkButton>
        </div>
      )}
    </div>
  );
}

export function HexRows({
  data,
  from,
  rows,
  error,
  near,
}: {
  data: Uint8Array;
  from: number;
  rows: number;
  error: number | null;
  near: number;
}) {
  const mark = (at: number) =>
    error === null ? undefined : at === error ? styles.hit : at >= near && at < error ? styles.near : undefined;
  return (
    <>
      {hexRows(data, from, rows).map((row) => (
        <div key={row.at} className={styles.hex}>
          <i>{hex(row.at, 4)}</i>
          <span>
            {row.bytes.map((byte, index) => (
              <b key={index} className={mark(row.at + index)}>
                {hex(byte)}
              </b>
            ))}
          </span>
          <span className={styles.ascii}>
            {row.bytes.map((byte, index) => (
              <b key={index} className={mark(row.at + index)}>
                {ascii(byte)}
              </b>
            ))}
          </span>
        </div>
      ))}
    </>
  );
}
