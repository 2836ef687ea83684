import { TextInput } from "@mantine/core";
import { useState } from "react";
import { useMayNotExport } from "../../api/exports";
import { useReveal } from "../../api/masking";
import type { DeadLetter } from "../../api/types";
import { Button } from "../../ui/controls";
import controls from "../../ui/controls.module.css";
import { CopyField } from "../../ui/CopyField";
import { ConfirmDialog, Dialog } from "../../ui/Dialog";
import { Chip } from "../../ui/Panel";
import styles from "./Record.module.css";

/** What is revealed: the key, the value, or the headers of a name. */
export type RevealedPart = { part: "key" | "value" } | { part: "header"; header: string };

/** Marks masked content, and offers to reveal it. */
export function MaskedMark({ letter, what }: { letter: DeadLetter; what: RevealedPart }) {
  const [isOpen, setOpen] = useState(false);
  const barred = useMayNotExport(); // the server asks for the same roles
  return (
    <span className={styles.masked} data-testid="masked">
      <Chip title="A masking rule hides content">masked</Chip>
      <Button small barred={barred} onClick={() => setOpen(true)}>
        Reveal…
      </Button>
      {isOpen && <RevealDialog id={letter.id} what={what} onClose={() => setOpen(false)} />}
    </span>
  );
}

/** Asks for a reason, and then shows the content until the dialog closes. */
function RevealDialog({ id, what, onClose }: { id: number; what: RevealedPart; onClose: () => void }) {
  const reveal = useReveal(id);
  const [path, setPath] = useState("");
  const name = what.part === "header" ? `the header ${what.header}` : `the ${what.part}`;
  if (reveal.data)
    return (
      <Dialog open persistent title={`Content of ${name}`} onClose={onClose}>
        <div className={controls.dialogBody}>
          <p className="t2">It is not shown again after this dialog closes.</p>
          {reveal.data.results.length === 0 && <p>The record has nothing there.</p>}
          {reveal.data.results.map(({ text, base64 }, index) =>
            base64 === null ? (
              <p key={index}>The content is null.</p>
            ) : (
              <div key={index}>
                {text === null && <p className="s t3">Not UTF-8, so it is shown as base64.</p>}
                <CopyField text={text ?? base64} label={`content ${index + 1}`} />
              </div>
            ),
          )}
          <div className="row" style={{ justifyContent: "flex-end" }}>
            <Button kind="primary" onClick={onClose}>
              Done
            </Button>
          </div>
        </div>
      </Dialog>
    );
  return (
    <ConfirmDialog
      open
      title={`Reveal ${name}`}
      inputLabel="Reason"
      required
      confirmLabel="Reveal"
      busy={reveal.isPending}
      error={reveal.error?.message ?? null}
      onClose={onClose}
      onConfirm={(reason) => reveal.mutate({ ...what, path: path.trim() || null, reason })}
    >
      The audit trail keeps your name, the reason and the field, but not the content.
      {what.part !== "header" && (
        <TextInput
          label="JSON path of the field"
          description={`Such as $.contact.phone. Without a path, all of ${name} is revealed.`}
          value={path}
          maxLength={200}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => setPath(event.currentTarget.value)}
          mt="sm"
          classNames={{ label: controls.label!, input: `${controls.input} mono` }}
        />
      )}
    </ConfirmDialog>
  );
}
