import type { Fingerprint } from "../../api/types";
import styles from "./Groups.module.css";

/** A normalised message; each hole shows on hover what stood there once. */
export function Message({ message, holes }: Pick<Fingerprint, "message" | "holes">) {
  return (
    <span className={`mono ${styles.message}`}>
      {parts(message, holes).map((part, index) =>
        part.example === undefined ? (
          part.text
        ) : (
          <span key={index} className={styles.hole} title={`for example ${part.example}`}>
            {part.text}
          </span>
        ),
      )}
    </span>
  );
}

/** The message cut at its holes, which come in the order of their examples; other text in angle brackets is text. */
export function parts(message: string, holes: Fingerprint["holes"]): { text: string; example?: string }[] {
  const found: { text: string; example?: string }[] = [];
  let rest = message;
  for (const hole of holes) {
    const mark = `<${hole.name}>`;
    const at = rest.indexOf(mark);
    if (at < 0) break;
    if (at > 0) found.push({ text: rest.slice(0, at) });
    found.push({ text: mark, example: hole.example });
    rest = rest.slice(at + mark.length);
  }
  return rest ? [...found, { text: rest }] : found;
}
