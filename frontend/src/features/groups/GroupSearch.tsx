import { TextInput } from "@mantine/core";
import { useState } from "react";
import { Button, LinkButton } from "../../ui/controls";
import styles from "./Groups.module.css";

/** A query in the language of records. The list then shows the groups with matching records. */
export function GroupSearch({
  query,
  error,
  onChange,
}: {
  query: string;
  error: string | undefined;
  onChange: (query: string) => void;
}) {
  const [text, setText] = useState(query);
  return (
    <form
      className={styles.search}
      onSubmit={(event) => {
        event.preventDefault();
        onChange(text.trim());
      }}
    >
      <TextInput
        aria-label="Groups with records that match"
        placeholder='Groups with records that match, such as value."US Gross":"n/a"'
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        error={error}
        spellCheck={false}
        style={{ flex: 1 }}
      />
      <Button type="submit">Search</Button>
      {query !== "" && <LinkButton onClick={() => (setText(""), onChange(""))}>Clear</LinkButton>}
    </form>
  );
}
