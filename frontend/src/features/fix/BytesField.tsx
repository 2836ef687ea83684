import { NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";
import { asText, fitsOneLine, fromHex, fromText, toHex, type Part } from "../../lib/editing";
import styles from "./Fix.module.css";

export type BytesMode = "text" | "hex" | "null";

export const BYTES_MODES: { value: BytesMode; label: string }[] = [
  { value: "text", label: "text" },
  { value: "hex", label: "hex" },
  { value: "null", label: "null" },
];

/** A field for the bytes of a key or a header: as text if they fit one line of text, in hex, or null. */
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
  const isOneLine = text !== null && fitsOneLine(text);
  const [mode, setMode] = useState<BytesMode>(value === null ? "null" : isOneLine ? "text" : "hex");
  const [hex, setHex] = useState(value === null ? "" : hexLine(value));
  const isInvalid = mode === "hex" && fromHex(hex) === null;
  const changeMode = (next: BytesMode) => {
    const bytes = value ?? new Uint8Array();
    setMode(next);
    setHex(hexLine(bytes));
    if (next === "null") onChange(null);
    else if (value === null) onChange(bytes);
  };
  const changeText = (input: string) => {
    if (mode === "hex") setHex(input);
    const bytes = mode === "hex" ? fromHex(input) : fromText(input);
    if (bytes !== null) onChange(bytes);
  };
  const options = BYTES_MODES.map((option) => ({
    ...option,
    disabled: option.value === "text" && value !== null && !isOneLine,
  }));
  return (
    <>
      <NativeSelect
        size="xs"
        aria-label={`Format of ${label[0]!.toLowerCase()}${label.slice(1)}`}
        data={options}
        value={mode}
        onChange={(event) => changeMode(event.currentTarget.value as BytesMode)}
        disabled={locked}
        classNames={{ input: styles.input! }}
      />
      <TextInput
        size="xs"
        aria-label={label}
        value={mode === "hex" ? hex : mode === "null" ? "" : (text ?? "")}
        placeholder={mode === "null" ? "null" : "empty"}
        disabled={locked || mode === "null"}
        onChange={(event) => changeText(event.currentTarget.value)}
        error={isInvalid ? "Enter pairs of hex digits. The previous bytes are kept." : undefined}
        spellCheck={false}
        autoComplete="off"
        classNames={{ root: styles.bytesInput!, input: `${styles.input} ${styles.code}` }}
      />
    </>
  );
}

function hexLine(bytes: Uint8Array): string {
  return toHex(bytes).replaceAll("\n", " ");
}
