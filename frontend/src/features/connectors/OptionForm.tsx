import { TextInput } from "@mantine/core";
import { useState } from "react";
import type { ConnectorOption } from "../../api/connectorConfigs";
import type { Config } from "../../lib/properties";
import { Button } from "../../ui/controls";
import controls from "../../ui/controls.module.css";
import { Notice } from "../../ui/Panel";
import styles from "./ConnectorEditor.module.css";
import { OptionRow } from "./OptionRow";

interface OptionFormProps {
  options: readonly ConnectorOption[];
  config: Config;
  opened: Config | undefined;
  hidden: ReadonlySet<string>;
  all: boolean;
  search: string;
  onChange: (name: string, value: string | undefined) => void;
}

/** The options in groups: those that are set, required or faulty, or all of them. */
export function OptionForm({ options, config, opened, hidden, all, search, onChange }: OptionFormProps) {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = ({ name, doc }: ConnectorOption) =>
    words.every((word) => `${name} ${doc}`.toLowerCase().includes(word));
  const isSet = ({ name, errors }: ConnectorOption) => name in config || name in (opened ?? {}) || errors.length > 0;
  const isShown = (one: ConnectorOption) =>
    words.length > 0 ? matches(one) : isSet(one) || (one.visible && (all || one.required));
  const shown = options.filter(isShown);
  const groups = [...new Set(shown.map((one) => one.group))];
  return (
    <>
      {groups.map((group) => (
        <section key={group} aria-label={group}>
          <h3 className={styles.group}>{group}</h3>
          {shown
            .filter((one) => one.group === group)
            .map((one) => (
              <OptionRow
                key={one.name}
                option={one}
                value={config[one.name]}
                before={opened?.[one.name]}
                isNew={opened === undefined}
                hidden={hidden.has(one.name)}
                onChange={(value) => onChange(one.name, value)}
              />
            ))}
        </section>
      ))}
      {shown.length === 0 && <Notice title="No option matches">Search for a part of its name or description.</Notice>}
      <NewOption known={config} onAdd={(name, value) => onChange(name, value)} />
    </>
  );
}

/** Adds an option that the table has no row for, such as one of a transform. */
function NewOption({ known, onAdd }: { known: Config; onAdd: (name: string, value: string) => void }) {
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const missing = name.trim() === "" ? "Enter a name first" : name.trim() in known ? "It is set already" : undefined;
  return (
    <form
      className={styles.newOption}
      onSubmit={(event) => {
        event.preventDefault();
        if (missing) return;
        onAdd(name.trim(), value);
        setName("");
        setValue("");
      }}
    >
      <TextInput
        label="Another option"
        placeholder="transforms.cast.spec"
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        autoComplete="off"
        classNames={{ label: controls.label!, input: `${controls.input} mono` }}
      />
      <TextInput
        label="Its value"
        value={value}
        onChange={(event) => setValue(event.currentTarget.value)}
        autoComplete="off"
        classNames={{ label: controls.label!, input: controls.input! }}
      />
      <Button type="submit" barred={missing}>
        Add option
      </Button>
    </form>
  );
}
