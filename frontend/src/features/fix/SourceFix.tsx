import { Textarea } from "@mantine/core";
import { useState } from "react";
import type { Rehearsed } from "../../api/rehearsals";
import { useMayWrite } from "../../api/session";
import type { DeadLetter } from "../../api/types";
import { Strip } from "../../ui/Panel";
import { Rehearsal } from "./Rehearsal";
import styles from "./Rehearsal.module.css";

/** The record of a source, corrected, through the stages that were left: what it would have written is sent instead. */
export function SourceFix({ letter, onWritten }: { letter: DeadLetter; onWritten: (written: boolean) => void }) {
  const may = useMayWrite();
  const [value, setValue] = useState(letter.source?.value ?? "");
  const [last, setLast] = useState<Rehearsed | undefined>();
  const type = (value: string) => {
    setValue(value);
    onWritten(false);
  };
  return (
    <Rehearsal
      asked={{ source: letter.id, value }}
      version={value}
      barred={may.allowed ? undefined : may.reason}
      onDone={({ results: [one] }) => {
        setLast(one);
        onWritten(Boolean(one?.produced));
      }}
    >
      <div className={styles.source}>
        <p className="s t2">
          A source connector read this record from outside Kafka. The corrected record runs through the remaining stages
          to its target topic.
        </p>
        <Textarea
          label={`The value as it came to the stage that failed${letter.source?.schema ? `, ${letter.source.schema}` : ""}`}
          classNames={{ input: styles.field! }}
          autosize
          minRows={3}
          maxRows={18}
          value={value}
          readOnly={!may.allowed}
          onChange={(event) => type(event.currentTarget.value)}
        />
        {last?.produced && (
          <Strip tone="passed">
            <span>
              It goes to <b className="mono">{last.produced.topic}</b>, {last.produced.through}. What it writes is your
              draft.
            </span>
          </Strip>
        )}
      </div>
    </Rehearsal>
  );
}
