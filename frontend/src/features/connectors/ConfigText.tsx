import { Textarea } from "@mantine/core";
import { useState } from "react";
import { parseConfig, toProperties, type Config } from "../../lib/properties";
import controls from "../../ui/controls.module.css";
import styles from "./ConnectorEditor.module.css";

/** The configuration as text: properties, or JSON if it begins with a brace. Text that can't be read changes nothing. */
export function ConfigText({ config, onChange }: { config: Config; onChange: (config: Config) => void }) {
  const [text, setText] = useState(() => toProperties(config));
  const [problem, setProblem] = useState<string | null>(null);
  return (
    <div className={styles.text}>
      <Textarea
        label="Properties, or JSON"
        value={text}
        onChange={(event) => {
          const next = event.currentTarget.value;
          setText(next);
          try {
            onChange(parseConfig(next));
            setProblem(null);
          } catch (error) {
            setProblem(error instanceof Error ? error.message : String(error));
          }
        }}
        rows={22}
        spellCheck={false}
        error={problem}
        classNames={{ label: controls.label!, input: styles.area! }}
      />
    </div>
  );
}
