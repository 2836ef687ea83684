import { Textarea } from "@mantine/core";
import { Suspense, lazy, useMemo, useState } from "react";
import { asText, byteOffset, fromHex, fromText, sameBytes, toHex, type Part } from "../../lib/editing";
import { bytes } from "../../lib/format";
import { jsonError } from "../../lib/json";
import { Choice } from "../../ui/controls";
import { SkeletonRows, Notice, Panel } from "../../ui/Panel";
import { useSyncedScroll } from "../../ui/useSyncedScroll";
import { BYTES_MODES, type BytesMode } from "./BytesField";
import styles from "./Fix.module.css";

// It suspends the whole page, so that no panel below it moves when it has loaded.
const ValueEditor = lazy(() => import("./ValueEditor"));
// It has its own Suspense boundary, so that the editor stays visible while it loads.
const DifferenceView = lazy(() => import("./DifferenceView"));

/** The original value, the edited value and their difference. */
export function ValuePanel({
  original,
  value,
  locked,
  onChange,
}: {
  original: Part;
  value: Part;
  locked: boolean;
  onChange: (value: Part) => void;
}) {
  const text = useMemo(() => (value === null ? null : asText(value)), [value]);
  const [mode, setMode] = useState<BytesMode>(value === null ? "null" : text === null ? "hex" : "text");
  const scrollTogether = useSyncedScroll();
  const [hexText, setHexText] = useState(() => (value === null ? "" : toHex(value)));
  const before = useMemo(() => {
    const found = original === null ? "" : asText(original);
    return mode === "hex" || found === null ? toHex(original ?? new Uint8Array()) : found;
  }, [original, mode]);
  const after = value === null ? "" : mode === "hex" || text === null ? toHex(value) : text;
  const isOnlyOriginalBinary = mode === "text" && original !== null && asText(original) === null;
  const hex = mode === "hex" || isOnlyOriginalBinary;
  const changeMode = (next: BytesMode) => {
    const back = value ?? original ?? new Uint8Array();
    if (next === "text" && asText(back) === null) return;
    setMode(next);
    setHexText(toHex(back));
    if (next === "null") onChange(null);
    else if (value === null) onChange(back);
  };
  const changeText = (input: string) => {
    const next = mode === "hex" ? fromHex(input) : fromText(input);
    if (mode === "hex") setHexText(input);
    if (next !== null) onChange(next);
  };
  const canBeText = value === null ? original === null || asText(original) !== null : text !== null;
  return (
    <Panel
      label="Value"
      title={
        <>
          <h2>Value</h2>
          <span className="s t3">
            {mode === "text"
              ? "Line breaks are only for display. The numbers on the left are byte offsets."
              : "16 bytes per line."}
          </span>
        </>
      }
      aside={
        !locked && (
          <Choice
            label="Value format"
            value={mode}
            options={BYTES_MODES.filter((option) => canBeText || option.value !== "text")}
            onChange={changeMode}
          />
        )
      }
    >
      <div className={styles.panes} onScrollCapture={scrollTogether}>
        <div className={styles.pane}>
          <header className={styles.paneHead}>
            <b>Original</b>
            <span className="s t3">read only, {bytes(original?.length)}</span>
          </header>
          {original === null ? (
            <Notice title="The value was null">In a compacted topic, a record without a value deletes its key.</Notice>
          ) : (
            <ValueEditor
              label="Original value"
              side="original"
              text={before}
              other={isOnlyOriginalBinary ? before : after}
            />
          )}
        </div>
        <div className={styles.pane}>
          <header className={styles.paneHead}>
            <b>Edited</b>
            <span className="s t3">{bytes(value?.length)}</span>
            <span className="sp" />
            {mode === "text" && text !== null && <JsonStatus text={text} />}
            {mode === "hex" && fromHex(hexText) === null && <span className="s failed">✕ not pairs of hex digits</span>}
          </header>
          {mode === "text" && text !== null && (
            <ValueEditor
              label="Edited value"
              side="edited"
              text={text}
              other={isOnlyOriginalBinary ? text : before}
              locked={locked}
              onChange={changeText}
            />
          )}
          {mode === "hex" && (
            <Textarea
              aria-label="Edited value in hex"
              value={hexText}
              disabled={locked}
              onChange={(event) => changeText(event.currentTarget.value)}
              autosize
              minRows={4}
              spellCheck={false}
              classNames={{ input: styles.hexInput! }}
            />
          )}
          {mode === "null" && (
            <Notice title="The value is null">
              Null is not an empty value. In a compacted topic it deletes the key.
            </Notice>
          )}
        </div>
        <div className={styles.pane} role="group" aria-label="Difference" tabIndex={0}>
          {sameBytes(original, value) ? (
            <>
              <header className={styles.paneHead}>
                <b>Difference</b>
                <span className="s t3">none, identical byte for byte</span>
              </header>
              <Notice title="No changes">Your changes appear here.</Notice>
            </>
          ) : (
            <Suspense fallback={<SkeletonRows rows={4} height={16} />}>
              <DifferenceView original={before} edited={hex && value !== null ? toHex(value) : after} hex={hex} />
            </Suspense>
          )}
        </div>
      </div>
    </Panel>
  );
}

function JsonStatus({ text }: { text: string }) {
  const error = useMemo(() => jsonError(text), [text]);
  if (!error)
    return (
      <span className="s passed b" role="status">
        ✓ valid JSON
      </span>
    );
  return (
    <span className="s failed b" role="status">
      ✕ byte {byteOffset(text, error.at)}: {error.message}
    </span>
  );
}
