import { TextInput } from "@mantine/core";
import { useState } from "react";
import { useIssueAct } from "../../api/ownership";
import { pageAddress } from "../../lib/pageAddress";
import controls from "../../ui/controls.module.css";
import { ConfirmDialog } from "../../ui/Dialog";
import styles from "./Groups.module.css";

interface Props {
  group: number;
  /** The tracker whose form for a new issue was opened in another tab, if it was. */
  tracker: string | null;
  onClose: () => void;
}

/** Asks for the name and the address of an issue, and links the group to it. */
export function LinkIssueDialog({ group, tracker, onClose }: Props) {
  const act = useIssueAct(group);
  const [name, setName] = useState("");
  const [address, setAddress] = useState("");
  const url = pageAddress(address);
  const named = name.trim() || (url ? lastPart(url) : "");
  const barred = !address.trim()
    ? "Enter the address of the issue first"
    : !url
      ? "The address must begin with https:// or http://"
      : undefined;
  return (
    <ConfirmDialog
      open
      title={tracker ? `Link the new issue in ${tracker}` : "Link an issue"}
      confirmLabel="Link"
      cancelLabel={tracker ? "Not now" : "Cancel"}
      barred={barred}
      busy={act.isPending}
      error={act.error?.message ?? null}
      onClose={onClose}
      onConfirm={() => url && act.mutate({ act: "link", name: named, url }, { onSuccess: onClose })}
    >
      <div className={styles.dialogFields}>
        {tracker && (
          <p>The form for the new issue is open in another tab. Save the issue there, and paste its address here.</p>
        )}
        <TextInput
          label="Address"
          placeholder="https://issues.example.org/OPS-31"
          value={address}
          onChange={(event) => setAddress(event.currentTarget.value)}
          data-autofocus
          maxLength={1000}
          classNames={{ label: controls.label!, input: `${controls.input} mono` }}
        />
        <TextInput
          label="Name"
          placeholder={url ? lastPart(url) : "OPS-31"}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          maxLength={100}
          classNames={{ label: controls.label!, input: controls.input! }}
        />
      </div>
    </ConfirmDialog>
  );
}

/** Return the last part of an address's path, which names the issue in most trackers; else the host. */
function lastPart(url: string): string {
  const { pathname, host } = new URL(url);
  return (pathname.split("/").filter(Boolean).at(-1) ?? host).slice(0, 100);
}
