import type { ComponentPropsWithRef } from "react";
import { plural } from "../lib/format";
import { Avatar, join } from "../ui/Panel";
import styles from "./Shell.module.css";

type Props = ComponentPropsWithRef<"button"> & {
  name: string;
  /** The number of mentions that the user has not seen. */
  unseen: number;
};

/** The button that opens the account menu. */
export function AccountButton({ name, unseen, className, ...props }: Props) {
  const label = `Signed in as ${name}${unseen > 0 ? `, ${plural(unseen, "new mention")}` : ""}`;
  return (
    <button type="button" className={join(styles.accountButton, className ?? false)} aria-label={label} {...props}>
      <Avatar name={name} me size={26} />
      {unseen > 0 && <i className={styles.mentionBadge}>{unseen > 9 ? "9+" : unseen}</i>}
    </button>
  );
}
