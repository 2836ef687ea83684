import { Popover } from "@mantine/core";
import { useState } from "react";
import { useHasSeveralClusters } from "../clusters/ClusterMark";
import { LinkButton } from "../../ui/controls";
import { COLUMNS, DEFAULT_COLUMNS } from "./columns";
import styles from "./Records.module.css";

/** A menu that shows and hides columns; at least one stays. */
export function ColumnMenu({
  columns,
  onChange,
}: {
  columns: readonly string[];
  onChange: (columns: readonly string[]) => void;
}) {
  const [open, setOpen] = useState(false);
  const hasSeveral = useHasSeveralClusters();
  const toggle = (id: string) => {
    const next = COLUMNS.filter((one) => (one.id === id) !== columns.includes(one.id)).map((one) => one.id);
    if (next.some((one) => hasSeveral || one !== "cluster"))
      onChange(next.join() === DEFAULT_COLUMNS.join() ? DEFAULT_COLUMNS : next);
  };
  return (
    <Popover
      opened={open}
      onChange={setOpen}
      position="bottom-end"
      offset={4}
      transitionProps={{ duration: 0 }}
      trapFocus
    >
      <Popover.Target>
        <button type="button" className={styles.columnButton} onClick={() => setOpen(!open)}>
          Columns
        </button>
      </Popover.Target>
      <Popover.Dropdown p={0} aria-label="Columns">
        <div className={styles.columnList}>
          {COLUMNS.filter(({ id }) => hasSeveral || id !== "cluster").map(({ id, name }) => (
            <label key={id}>
              <input type="checkbox" checked={columns.includes(id)} onChange={() => toggle(id)} />
              {name}
            </label>
          ))}
          {columns !== DEFAULT_COLUMNS && (
            <LinkButton onClick={() => onChange(DEFAULT_COLUMNS)}>Reset columns</LinkButton>
          )}
        </div>
      </Popover.Dropdown>
    </Popover>
  );
}
