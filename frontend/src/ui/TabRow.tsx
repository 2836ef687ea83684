import { Tabs } from "@mantine/core";
import { useEffect, useRef, type ReactNode } from "react";
import styles from "./controls.module.css";

export interface TabItem {
  value: string;
  label: string;
  note?: ReactNode;
}

/** A row of tabs; the caller renders the active panel. */
export function TabRow({
  value,
  items,
  onChange,
  children,
  inset,
}: {
  value: string;
  items: readonly TabItem[];
  onChange: (value: string) => void;
  children?: ReactNode;
  inset?: boolean;
}) {
  const list = useRef<HTMLDivElement>(null);
  // On a narrow screen the active tab may be beyond the edge of its row.
  useEffect(() => {
    list.current?.querySelector("[data-active]")?.scrollIntoView?.({ block: "nearest", inline: "nearest" });
  }, [value]);
  return (
    <Tabs value={value} onChange={(next) => next && onChange(next)} unstyled={false} variant="default">
      <Tabs.List ref={list} className={styles.tabs} style={inset ? { padding: "2px 16px 0" } : undefined}>
        {items.map((item) => (
          <Tabs.Tab key={item.value} value={item.value} className={styles.tab}>
            {item.label}
            {item.note !== undefined && <i>{item.note}</i>}
          </Tabs.Tab>
        ))}
        <span className="sp" />
        {children}
      </Tabs.List>
    </Tabs>
  );
}
