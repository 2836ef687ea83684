import { useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import type { RecordField } from "../../api/replayTypes";
import type { ParseError, Payload } from "../../api/types";
import { prettyLines, cells, fromBase64, nearStart, wrappedLines, type Cell, type Line } from "../../lib/bytes";
import { bytes } from "../../lib/format";
import { LinkButton } from "../../ui/controls";
import { Notice } from "../../ui/Panel";
import { WithheldNotice } from "../../ui/WithheldNotice";
import { MaskedNotice } from "./MaskedLine";
import { HexRows } from "./HexView";
import styles from "./Payload.module.css";

const WIDTH = 100;
const LINES = 300;
const NO_FIELDS: RecordField[] = [];

/** A payload as text with byte offsets; the byte where parsing stopped is marked. */
export function PayloadView({
  payload,
  part,
  href,
  missing,
  marks = NO_FIELDS,
}: {
  payload: Payload;
  /** The name of the payload in sentences. */
  part: string;
  /** The address of all its bytes. */
  href: string;
  /** The reason why its bytes are unknown. */
  missing?: ReactNode;
  /** The fields that the error names. */
  marks?: readonly RecordField[];
}) {
  const [folded, setFolded] = useState(true);
  const [limit, setLimit] = useState(LINES);
  const data = useMemo(() => (payload.base64 ? fromBase64(payload.base64) : new Uint8Array()), [payload.base64]);
  const all = useMemo(() => cells(data), [data]);
  const lines = useMemo(
    () => (payload.json && folded ? prettyLines(all, WIDTH) : wrappedLines(all, WIDTH)),
    [all, payload.json, folded],
  );
  if (payload.is_null)
    return (
      <Notice title={`The ${part} is null`}>
        {part === "value" ? "A record without a value: in a compacted topic it deletes its key." : undefined}
      </Notice>
    );
  if (payload.size === null) return missing;
  if (payload.size === 0)
    return <Notice title={`The ${part} is empty`}>Zero bytes, which is not the same as null.</Notice>;
  if (payload.withheld && payload.masked) return <MaskedNotice />;
  if (payload.withheld) return <WithheldNotice size={bytes(payload.size)} />;
  const error = payload.parse_error;
  const near = error ? nearStart(data, error.byte) : 0;
  return (
    <>
      <div className={styles.tools}>
        <span>{decodingNote(payload, all)}</span>
        {payload.json && (
          <LinkButton onClick={() => setFolded(!folded)}>
            {folded ? "Show as it was sent" : "Add line breaks"}
          </LinkButton>
        )}
        {payload.shown < payload.size && (
          <span className="warn">
            First {bytes(payload.shown)} of {bytes(payload.size)}.{" "}
            <a href={href} download>
              All of it
            </a>
          </span>
        )}
      </div>
      <div className={styles.bytes} data-testid="bytes" role="group" tabIndex={0} aria-label={`Text of the ${part}`}>
        {lines.slice(0, limit).map((line) => (
          <TextLine key={line.at} line={line} error={error} near={near} named={marks} size={payload.size ?? 0} />
        ))}
        {lines.length > limit && (
          <div className={styles.more}>
            <LinkButton
              onClick={() => setLimit(limit + LINES)}
            >{`Next ${Math.min(LINES, lines.length - limit)} lines`}</LinkButton>
          </div>
        )}
      </div>
      {error && (
        <div className={styles.hexes} role="group" tabIndex={0} aria-label="Bytes around the error">
          <HexRows
            data={data}
            from={Math.max(0, Math.min(error.byte, data.length - 1) - 16)}
            rows={3}
            error={error.byte}
            near={near}
          />
        </div>
      )}
    </>
  );
}

interface TextLineProps {
  line: Line;
  error: ParseError | null;
  near: number;
  /** The fields that the error names. */
  named: readonly RecordField[];
  size: number;
}

function TextLine({ line, error, near, named, size }: TextLineProps) {
  const own = useRef<HTMLDivElement>(null);
  const isNamed = named.some(({ start }) => start !== null && line.at <= start && start < (line.cells.at(-1)?.at ?? 0));
  useEffect(() => {
    // Scroll inside the text only: the page stays where it is.
    const box = own.current?.parentElement;
    if (isNamed && box && own.current) box.scrollTop = own.current.offsetTop - box.offsetTop - box.clientHeight / 2;
  }, [isNamed]);
  const last = line.cells.at(-1);
  const end = (last?.at ?? 0) + (last?.length ?? 0);
  const here = error !== null && (error.byte < end || (error.byte >= size && end >= size)) && error.byte >= line.at;
  return (
    <>
      <div className={styles.line} ref={own}>
        <i>{line.at}</i>
        <span style={{ paddingLeft: `${line.indent * 2}ch` }}>
          {pieces(line.cells, error?.byte ?? null, near, named).map(({ kind, text }, index) =>
            kind === "" ? (
              text
            ) : (
              <span key={index} className={styles[kind]}>
                {text}
              </span>
            ),
          )}
          {here && error.byte >= size && <span className={styles.end} aria-label="end of the data" />}
        </span>
      </div>
      {here && (
        <div className={styles.line}>
          <i />
          <span
            className={styles.errorMessage}
            style={{
              paddingLeft: `min(${Math.max(0, line.cells.filter((cell) => cell.at < error.byte).length)}ch, 55%)`,
            }}
          >
            ▲ byte {error.byte}: {error.message}
          </span>
        </div>
      )}
    </>
  );
}

function pieces(
  all: readonly Cell[],
  error: number | null,
  near: number,
  named: readonly RecordField[],
): { kind: "" | "hit" | "near" | "invalid"; text: string }[] {
  const out: { kind: "" | "hit" | "near" | "invalid"; text: string }[] = [];
  for (const cell of all) {
    const kind =
      error !== null && cell.at <= error && error < cell.at + cell.length
        ? "hit"
        : cell.invalid
          ? "invalid"
          : (error !== null && cell.at >= near && cell.at < error) ||
              named.some(({ start, end }) => start !== null && end !== null && start <= cell.at && cell.at < end)
            ? "near"
            : "";
    const last = out.at(-1);
    if (last?.kind === kind) last.text += cell.text;
    else out.push({ kind, text: cell.text });
  }
  return out;
}

function decodingNote(payload: Payload, all: readonly Cell[]): string {
  if (payload.json) return "JSON, shown character by character as sent; line breaks are added for reading only";
  const invalid = all.filter((cell) => cell.invalid).length;
  if (invalid > 0) return `Text with ${invalid} byte${invalid === 1 ? "" : "s"} that are not UTF-8, shown as they are`;
  if (payload.parse_error) return "Decoder: JSON, shown as text since it does not parse";
  return "Text, as it was sent";
}
