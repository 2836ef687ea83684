import { Menu, useMantineColorScheme } from "@mantine/core";
import { Link } from "react-router";
import { roleName, useSignOut } from "../api/session";
import type { Session } from "../api/types";
import { AccountButton } from "./AccountButton";
import styles from "./Shell.module.css";

/** The menu of the signed-in person. It is open when it appears. */
export function AccountMenu({ session, unseen, onHelp }: { session: Session; unseen: number; onHelp: () => void }) {
  const signOut = useSignOut();
  const { setColorScheme } = useMantineColorScheme();
  const name = session.username ?? "";
  return (
    <Menu
      defaultOpened
      position="bottom-end"
      transitionProps={{ duration: 0 }}
      classNames={{ dropdown: styles.dropdown!, item: styles.item! }}
    >
      <Menu.Target>
        <AccountButton name={name} unseen={unseen} />
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {name}, {roleName(session)}
        </Menu.Label>
        <Menu.Item component={Link} to="/profile">
          Profile
        </Menu.Item>
        <Menu.Item component={Link} to="/mentions" rightSection={unseen > 0 && <b>{unseen} new</b>}>
          Mentions
        </Menu.Item>
        <Menu.Item component="a" href="/api/docs">
          REST API
        </Menu.Item>
        <Menu.Item onClick={onHelp} rightSection={<kbd>?</kbd>}>
          Keys
        </Menu.Item>
        <Menu.Item onClick={() => setColorScheme("auto")}>Follow the system’s theme</Menu.Item>
        <Menu.Item onClick={() => signOut.mutate()}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
