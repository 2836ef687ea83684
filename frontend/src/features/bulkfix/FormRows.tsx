import { NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";
import { freshRow, valueKind, type CastTo, type FormAct, type FormRow, type When } from "../../lib/bulkForm";
import { Button, LinkButton } from "../../ui/controls";
import styles from "./BulkFix.module.css";

const ACTS: { value: FormAct; label: string }[] = [
  { value: "set", label: "Set field" },
  { value: "unset", label: "Remove field" },
  { value: "cast", label: "Convert field to" },
  { value: "set_key", label: "Set key" },
  { value: "set_header", label: "Set header" },
  { value: "unset_header", label: "Remove header" },
];
const WHEN: { value: When; label: string }[] = [
  { value: "always", label: "always" },
  { value: "null", label: "where it is null" },
  { value: "missing", label: "where it is missing" },
  { value: "null_or_missing", label: "where it is null or missing" },
];
const TYPES: CastTo[] = ["number", "integer", "string", "boolean"];

/** A change as lines to be filled in, done from the first to the last. */
export function FormRows({ rows, onChange }: { rows: FormRow[]; onChange: (rows: FormRow[]) => void }) {
  const [next, setNext] = useState(() => Math.max(...rows.map((row) => row.id), 0) + 1);
  const put = (row: FormRow) => onChange(rows.map((one) => (one.id === row.id ? row : one)));
  const add = () => {
    onChange([...rows, freshRow(next)]);
    setNext(next + 1);
  };
  return (
    <div className={styles.rows}>
      <p className="s t3">
        A field is named as <code>gap</code>, <code>payload.gap</code> or <code>/payload/gap</code>.
      </p>
      {rows.map((row, index) => (
        <div key={row.id} className={styles.line}>
          <NativeSelect
            size="xs"
            aria-label={`Act of line ${index + 1}`}
            data={ACTS}
            value={row.act}
            onChange={(event) => put({ ...row, act: event.currentTarget.value as FormAct })}
          />
          {row.act !== "set_key" && (
            <TextInput
              size="xs"
              aria-label={`${row.act.endsWith("header") ? "Header" : "Field"} of line ${index + 1}`}
              placeholder={row.act.endsWith("header") ? "name" : "field"}
              value={row.name}
              onChange={(event) => put({ ...row, name: event.currentTarget.value })}
              spellCheck={false}
              autoComplete="off"
              classNames={{ input: styles.code! }}
            />
          )}
          {row.act.startsWith("set") && (
            <TextInput
              size="xs"
              aria-label={`Value of line ${index + 1}`}
              placeholder="value"
              value={row.value}
              onChange={(event) => put({ ...row, value: event.currentTarget.value })}
              rightSection={<span className="s t3">{row.act === "set" ? valueKind(row.value) : "text"}</span>}
              rightSectionWidth={76}
              spellCheck={false}
              autoComplete="off"
              classNames={{ input: styles.code! }}
            />
          )}
          {row.act === "set" && (
            <NativeSelect
              size="xs"
              aria-label={`When of line ${index + 1}`}
              data={WHEN}
              value={row.when}
              onChange={(event) => put({ ...row, when: event.currentTarget.value as When })}
            />
          )}
          {row.act === "cast" && (
            <NativeSelect
              size="xs"
              aria-label={`Type of line ${index + 1}`}
              data={TYPES}
              value={row.to}
              onChange={(event) => put({ ...row, to: event.currentTarget.value as CastTo })}
            />
          )}
          {rows.length > 1 && (
            <Button kind="quiet" onClick={() => onChange(rows.filter((one) => one.id !== row.id))}>
              Remove
            </Button>
          )}
        </div>
      ))}
      <div>
        <LinkButton onClick={add}>Add a line</LinkButton>
      </div>
    </div>
  );
}
