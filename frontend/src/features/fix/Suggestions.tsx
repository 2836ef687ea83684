import { useSuggestions } from "../../api/bulkFixes";
import { fromBase64 } from "../../lib/bytes";
import { sameBytes, type Part } from "../../lib/editing";
import { Button } from "../../ui/controls";
import { Panel } from "../../ui/Panel";
import styles from "./Fix.module.css";

/** Suggested values for a record, each with its reason and a button that puts it into the editor. */
export function Suggestions({
  id,
  value,
  onTake,
}: {
  id: number;
  value: Part | undefined;
  onTake: (value: Part) => void;
}) {
  const { data } = useSuggestions(id);
  const found = data?.results ?? [];
  if (found.length === 0 || value === undefined) return null;
  return (
    <Panel
      className={styles.gap}
      label="Suggestions"
      title={
        <>
          <h2>Suggestions</h2>
          <span className="s t3">never applied automatically</span>
        </>
      }
    >
      <ul className={styles.suggestions}>
        {found.map((suggestion) => {
          const bytes = fromBase64(suggestion.value.base64 ?? "") as Uint8Array<ArrayBuffer>;
          return (
            <li key={suggestion.title}>
              <div>
                <b>{suggestion.title}</b>
                <div className="s t3">{suggestion.why}</div>
              </div>
              <span className="sp" />
              <Button
                barred={sameBytes(value, bytes) ? "The edited value already matches" : undefined}
                title={suggestion.title}
                onClick={() => onTake(bytes)}
              >
                Use it
              </Button>
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}
