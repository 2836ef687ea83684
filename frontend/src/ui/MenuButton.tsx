import { Button as MantineButton, Menu } from "@mantine/core";
import { useRef, type ReactNode } from "react";
import styles from "./controls.module.css";
import { join } from "./Panel";

/** A button with a menu of actions or downloads. */
export function MenuButton({
  label,
  items,
  small,
}: {
  label: ReactNode;
  small?: boolean;
  items: { label: ReactNode; href?: string; onClick?: () => void }[];
}) {
  const target = useRef<HTMLButtonElement>(null);
  return (
    <Menu
      position="bottom-end"
      offset={4}
      transitionProps={{ duration: 0 }}
      classNames={{ dropdown: styles.dropdown!, item: styles.item! }}
    >
      <Menu.Target>
        <MantineButton ref={target} className={join(styles.button, small && styles.small)}>
          {label}
        </MantineButton>
      </Menu.Target>
      <Menu.Dropdown>
        {items.map((item, index) =>
          item.href === undefined ? (
            <Menu.Item
              key={index}
              // The item goes with its menu. A dialog that it opens must find a lasting element to return the focus to.
              onClick={() => (target.current?.focus(), item.onClick?.())}
            >
              {item.label}
            </Menu.Item>
          ) : (
            <Menu.Item key={index} component="a" href={item.href} download>
              {item.label}
            </Menu.Item>
          ),
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
