import { useState } from "react";
import styles from "./CopyField.module.css";

const SHOWN_MS = 2_000;

/** A line of text with a button that copies it. */
export function CopyField({ text, label }: { text: string; label: string }) {
  const [said, setSaid] = useState("");
  const copy = async () => {
    const done = await copyText(text);
    setSaid(done ? "Copied" : "Select and copy it");
    setTimeout(() => setSaid(""), SHOWN_MS);
  };
  return (
    <span className={styles.copy}>
      <code tabIndex={0} aria-label={label}>
        {text}
      </code>
      <button type="button" onClick={() => void copy()} aria-label={`Copy ${label}`}>
        {said || "Copy"}
      </button>
    </span>
  );
}

/** Copy text; return false if the browser refuses, as it does on plain http. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
