import type { ComponentPropsWithRef } from "react";
import { Avatar } from "../ui/Panel";
import styles from "./Shell.module.css";

/** The button that opens the account menu. */
export function AccountButton({ name, ...props }: ComponentPropsWithRef<"button"> & { name: string }) {
  return (
    <button type="button" className={styles.accountButton} aria-label={`Signed in as ${name}`} {...props}>
      <Avatar name={name} me size={26} />
    </button>
  );
}
