import { Textarea } from "@mantine/core";
import { useState } from "react";
import type { Rehearsed } from "../../api/rehearsals";
import { useMayWrite } from "../../api/session";
import type { DeadLetter } from "../../api/types";
import { Strip } from "../../ui/Panel";
import { Rehearsal } from "./Rehearsal";
import styles from "./Rehearsal.module.css";

interface Props {
  letter: DeadLetter;
  /** Reports whether the current value has passed all remaining stages. */
  onRehearsed: (passed: boolean) => void;
}

/** An editor for the record of a source connector. A replay sends the rehearsal's output. */
export function SourceRecordEditor({ letter, onRehearsed }: Props) {
  const may = useMayWrite();
  const [value, setValue] = useState(letter.source?.value ?? "");
  const [result, setResult] = useState<Rehearsed | undefined>();
  const changeValue = (value: string) => {
    setValue(value);
    onRehearsed(false);
  };
  return (
    <Rehearsal
      asked={{ source: letter.id, value }}
      version={value}
      barred={may.allowed ? undefined : may.reason}
      onDone={({ results: [first] }) => {
        setResult(first);
        onRehearsed(Boolean(first?.produced));
      }}
    >
      <div className={styles.source}>
        <p className="s t2">
          A source connector read this record from outside Kafka. The corrected record runs through the remaining stages
          to its target topic.
        </p>
        <Textarea
          label={`Value at the failed stage${letter.source?.schema ? `, ${letter.source.schema}` : ""}`}
          classNames={{ input: styles.field! }}
          autosize
          minRows={3}
          maxRows={18}
          value={value}
          readOnly={!may.allowed}
          onChange={(event) => changeValue(event.currentTarget.value)}
        />
        {result?.produced && (
          <Strip tone="passed">
            <span>
              The record goes to <b className="mono">{result.produced.topic}</b>, {result.produced.through}. The output
              of the stages is your draft.
            </span>
          </Strip>
        )}
      </div>
    </Rehearsal>
  );
}
