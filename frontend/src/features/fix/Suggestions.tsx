import { useSuggestions } from "../../api/bulkFixes";
import { fromBase64 } from "../../lib/bytes";
import { sameBytes, type Part } from "../../lib/editing";
import { Button } from "../../ui/controls";
import { Panel } from "../../ui/Panel";
import styles from "./Fix.module.css";

/** What suggests itself for this record, each with its reason; one click puts it into the editor. */
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
          <span className="s t3">suggestions are never applied automatically</span>
        </>
      }
    >
      <ul className={styles.suggestions}>
        {found.map((one) => {
          const bytes = fromBase64(one.value.base64 ?? "") as Uint8Array<ArrayBuffer>;
          return (
            <li key={one.title}>
              <div>
                <b>{one.title}</b>
                <div className="s t3">{one.why}</div>
              </div>
              <span className="sp" />
              <Button
                barred={sameBytes(value, bytes) ? "The edited value already matches" : undefined}
                title={one.title}
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
