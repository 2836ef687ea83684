import { Textarea } from "@mantine/core";
import { Suspense, lazy, useMemo, useState } from "react";
import { asText, byteOffset, fromHex, fromText, sameBytes, toHex, type Part } from "../../lib/editing";
import { bytes } from "../../lib/format";
import { jsonError } from "../../lib/json";
import { Choice } from "../../ui/controls";
import { SkeletonRows, Notice, Panel } from "../../ui/Panel";
import { useSyncedScroll } from "../../ui/useSyncedScroll";
import { MODES, type Mode } from "./BytesField";
import styles from "./Fix.module.css";

const Editor = lazy(() => import("./Editor"));
// It has a boundary of its own: what is being typed beside it must not be hidden while it loads.
const DifferenceView = lazy(() => import("./DifferenceView"));

/** The value as it was, as it is edited, and what differs. */
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
  const [mode, setMode] = useState<Mode>(value === null ? "null" : text === null ? "hex" : "text");
  const together = useSyncedScroll();
  const [digits, setDigits] = useState(() => (value === null ? "" : toHex(value)));
  const before = useMemo(() => {
    const found = original === null ? "" : asText(original);
    return mode === "hex" || found === null ? toHex(original ?? new Uint8Array()) : found;
  }, [original, mode]);
  const after = value === null ? "" : mode === "hex" || text === null ? toHex(value) : text;
  const apart = mode === "text" && original !== null && asText(original) === null; // one side is text, the other is none
  const hex = mode === "hex" || apart;
  const turn = (next: Mode) => {
    const back = value ?? original ?? new Uint8Array();
    if (next === "text" && asText(back) === null) return;
    setMode(next);
    setDigits(toHex(back));
    if (next === "null") onChange(null);
    else if (value === null) onChange(back);
  };
  const typed = (input: string) => {
    const next = mode === "hex" ? fromHex(input) : fromText(input);
    if (mode === "hex") setDigits(input);
    if (next !== null) onChange(next);
  };
  const textual = value === null ? original === null || asText(original) !== null : text !== null;
  return (
    <Panel
      label="Value"
      title={
        <>
          <h2>Value</h2>
          <span className="s t3">
            {mode === "text"
              ? "Members are put on lines for reading only; the figures on the left are byte offsets."
              : "Sixteen bytes a line."}
          </span>
        </>
      }
      aside={
        !locked && (
          <Choice
            label="How the value is written"
            value={mode}
            options={MODES.filter((one) => textual || one.value !== "text")}
            onChange={turn}
          />
        )
      }
    >
      <Suspense fallback={<SkeletonRows rows={8} height={16} />}>
        <div className={styles.panes} onScrollCapture={together}>
          <div className={styles.pane}>
            <header className={styles.paneHead}>
              <b>Original</b>
              <span className="s t3">read only, {bytes(original?.length)}</span>
            </header>
            {original === null ? (
              <Notice title="The value was null">
                A record without a value: in a compacted topic it deletes its key.
              </Notice>
            ) : (
              <Editor label="Original value" side="original" text={before} other={apart ? before : after} />
            )}
          </div>
          <div className={styles.pane}>
            <header className={styles.paneHead}>
              <b>Edited</b>
              <span className="s t3">{bytes(value?.length)}</span>
              <span className="sp" />
              {mode === "text" && text !== null && <Validity text={text} />}
              {mode === "hex" && fromHex(digits) === null && (
                <span className="s failed">✕ not pairs of hex digits</span>
              )}
            </header>
            {mode === "text" && text !== null && (
              <Editor
                label="Edited value"
                side="edited"
                text={text}
                other={apart ? text : before}
                locked={locked}
                onChange={typed}
              />
            )}
            {mode === "hex" && (
              <Textarea
                aria-label="Edited value in hex"
                value={digits}
                disabled={locked}
                onChange={(event) => typed(event.currentTarget.value)}
                autosize
                minRows={4}
                spellCheck={false}
                classNames={{ input: styles.hexInput! }}
              />
            )}
            {mode === "null" && (
              <Notice title="The value is null">
                Zero bytes would not be the same. In a compacted topic this deletes the key.
              </Notice>
            )}
          </div>
          <div className={styles.pane} role="group" aria-label="Difference" tabIndex={0}>
            {sameBytes(original, value) ? (
              <>
                <header className={styles.paneHead}>
                  <b>Difference</b>
                  <span className="s t3">none: identical, byte for byte</span>
                </header>
                <Notice title="Nothing is changed">Your changes appear here.</Notice>
              </>
            ) : (
              <Suspense fallback={<SkeletonRows rows={4} height={16} />}>
                <DifferenceView original={before} edited={hex && value !== null ? toHex(value) : after} hex={hex} />
              </Suspense>
            )}
          </div>
        </div>
      </Suspense>
    </Panel>
  );
}

function Validity({ text }: { text: string }) {
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
