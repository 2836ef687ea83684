import { NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";
import { asText, fitsOneLine, fromHex, fromText, toHex, type Part } from "../../lib/editing";
import styles from "./Fix.module.css";

export type Mode = "text" | "hex" | "null";

export const MODES: { value: Mode; label: string }[] = [
  { value: "text", label: "text" },
  { value: "hex", label: "hex" },
  { value: "null", label: "null" },
];

/** A key's or header's bytes on one line: as text when they are that, in hex otherwise, or null. */
export function BytesField({
  label,
  value,
  locked,
  onChange,
}: {
  label: string;
  value: Part;
  locked: boolean;
  onChange: (value: Part) => void;
}) {
  const text = value === null ? null : asText(value);
  const line = text !== null && fitsOneLine(text);
  const [mode, setMode] = useState<Mode>(value === null ? "null" : line ? "text" : "hex");
  const [digits, setDigits] = useState(value === null ? "" : oneLine(value));
  const bad = mode === "hex" && fromHex(digits) === null;
  const turn = (next: Mode) => {
    const bytes = value ?? new Uint8Array();
    setMode(next);
    setDigits(oneLine(bytes));
    if (next === "null") onChange(null);
    else if (value === null) onChange(bytes);
  };
  const typed = (input: string) => {
    if (mode === "hex") setDigits(input);
    const bytes = mode === "hex" ? fromHex(input) : fromText(input);
    if (bytes !== null) onChange(bytes);
  };
  const options = MODES.map((one) => ({ ...one, disabled: one.value === "text" && value !== null && !line }));
  return (
    <>
      <NativeSelect
        size="xs"
        aria-label={`Form of ${label[0]!.toLowerCase()}${label.slice(1)}`}
        data={options}
        value={mode}
        onChange={(event) => turn(event.currentTarget.value as Mode)}
        disabled={locked}
        classNames={{ input: styles.input! }}
      />
      <TextInput
        size="xs"
        aria-label={label}
        value={mode === "hex" ? digits : mode === "null" ? "" : (text ?? "")}
        placeholder={mode === "null" ? "null" : "empty"}
        disabled={locked || mode === "null"}
        onChange={(event) => typed(event.currentTarget.value)}
        error={bad ? "Enter pairs of hex digits. The previous bytes are kept." : undefined}
        spellCheck={false}
        autoComplete="off"
        classNames={{ root: styles.grow!, input: `${styles.input} ${styles.code}` }}
      />
    </>
  );
}

function oneLine(bytes: Uint8Array): string {
  return toHex(bytes).replaceAll("\n", " ");
}
