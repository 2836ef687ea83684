import type { Fingerprint } from "../../api/types";
import styles from "./Groups.module.css";

/** A message with placeholders. Each placeholder shows an example of its text on hover. */
export function NormalisedMessage({ message, holes }: Pick<Fingerprint, "message" | "holes">) {
  return (
    <span className={`mono ${styles.message}`}>
      {splitAtHoles(message, holes).map((part, index) =>
        part.example === undefined ? (
          part.text
        ) : (
          <span key={index} className={styles.placeholder} title={`for example ${part.example}`}>
            {part.text}
          </span>
        ),
      )}
    </span>
  );
}

/** Split a message at its placeholders. Other text in angle brackets stays text. */
export function splitAtHoles(message: string, holes: Fingerprint["holes"]): { text: string; example?: string }[] {
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
