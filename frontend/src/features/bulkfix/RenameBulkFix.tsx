import { TextInput } from "@mantine/core";
import { useState } from "react";
import { useRenameBulkFix, type BulkFix } from "../../api/bulkFixes";
import { useMayWrite, useSession } from "../../api/session";
import { Button, LinkButton } from "../../ui/controls";
import { Dialog } from "../../ui/Dialog";
import styles from "./Programs.module.css";

/** Gives one's own bulk fix another name. */
export function RenameBulkFix({ bulk }: { bulk: BulkFix }) {
  const may = useMayWrite();
  const { data: session } = useSession();
  const rename = useRenameBulkFix(bulk.id);
  const [open, setOpen] = useState(false);
  const [name, setName] = useState(bulk.name);
  if (!may.allowed || bulk.author === null || session?.username !== bulk.author) return null;
  const close = () => setOpen(false);
  return (
    <>
      <LinkButton onClick={() => (setName(bulk.name), setOpen(true))}>{bulk.name ? "Rename" : "Name it"}</LinkButton>
      <Dialog open={open} title="Name the bulk fix" onClose={close} onClosed={rename.reset}>
        <form
          className={styles.dialog}
          onSubmit={(event) => {
            event.preventDefault();
            rename.mutate(name.trim(), { onSuccess: close });
          }}
        >
          <TextInput
            size="xs"
            label="Name"
            description="Everybody sees it."
            maxLength={100}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            data-autofocus
          />
          {rename.error && (
            <div className="failed s" role="alert">
              {rename.error.message}
            </div>
          )}
          <div className="row" style={{ justifyContent: "flex-end" }}>
            <Button onClick={close}>Cancel</Button>
            <Button kind="primary" type="submit" busy={rename.isPending}>
              Save
            </Button>
          </div>
        </form>
      </Dialog>
    </>
  );
}
