import type { ReactNode } from "react";
import type { Header } from "../../api/types";
import { fromBase64, hex } from "../../lib/bytes";
import { bytes } from "../../lib/format";
import { Notice } from "../../ui/Panel";
import { WithheldNotice } from "../../ui/WithheldNotice";
import styles from "./Payload.module.css";

/** Headers in record order. Kafka allows duplicate names and null values. */
export function HeaderTable({
  headers,
  maskOf = () => null,
}: {
  headers: readonly Header[];
  /** Return the mark of a header with masked content; null for another header. */
  maskOf?: (header: Header) => ReactNode;
}) {
  if (headers.length === 0) return <Notice title="The record has no headers" />;
  return (
    <>
      {headers.some((header) => header.withheld && !header.masked) && <WithheldNotice />}
      <table className={styles.headers}>
        <thead>
          <tr>
            <th>Name</th>
            <th>Value</th>
            <th className="num">Size</th>
          </tr>
        </thead>
        <tbody>
          {headers.map((header, index) => (
            <tr key={index}>
              <td className="mono">{header.name}</td>
              <td className="mono">{headerValue(header, maskOf(header))}</td>
              <td className="num t3">{header.is_null ? "null" : bytes(header.size)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function headerValue(header: Header, mask: ReactNode = null) {
  if (header.is_null) return <span className="t3">null</span>;
  if (mask)
    return (
      <>
        {!header.withheld && header.text} {mask}
      </>
    );
  if (header.withheld && header.masked) return <span className="t3">masked</span>;
  if (header.withheld) return <span className="t3">withheld</span>;
  if (header.text !== null) return header.text;
  if (header.base64 === null) return <span className="t3">not kept</span>;
  return [...fromBase64(header.base64).subarray(0, 64)].map((byte) => hex(byte)).join(" ");
}
