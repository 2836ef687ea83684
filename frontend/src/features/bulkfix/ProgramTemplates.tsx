import { Checkbox, TextInput } from "@mantine/core";
import { useState } from "react";
import {
  useDeleteTemplate,
  useFixTemplates,
  useSaveTemplate,
  type BulkKind,
  type FixProgram,
} from "../../api/bulkFixes";
import { Button, LinkButton } from "../../ui/controls";
import { Dialog } from "../../ui/Dialog";
import styles from "./Programs.module.css";

/** Programs with names, one's own and shared ones, and a way to keep this one. */
export function ProgramTemplates({
  enabled,
  kind,
  program,
  onUse,
}: {
  enabled: boolean;
  kind: BulkKind;
  program: string;
  onUse: (template: FixProgram) => void;
}) {
  const { data } = useFixTemplates(enabled);
  const remove = useDeleteTemplate();
  const [saving, setSaving] = useState(false);
  const templates = data?.results ?? [];
  return (
    <div className={styles.templates}>
      <span className="s t3">Templates</span>
      {templates.map((one) => (
        <span key={one.id} className={styles.template}>
          <Button small title={one.program} onClick={() => onUse(one)}>
            {one.own ? one.name : `${one.name}, by ${one.author ?? "somebody"}`}
          </Button>
          {one.own && (
            <button
              type="button"
              className={styles.remove}
              aria-label={`Delete the template ${one.name}`}
              onClick={() => remove.mutate(one.id)}
            >
              ×
            </button>
          )}
        </span>
      ))}
      {templates.length === 0 && <span className="s t3">none yet</span>}
      {program.trim() !== "" && <LinkButton onClick={() => setSaving(true)}>Save as template…</LinkButton>}
      {remove.error && (
        <span className="s failed" role="alert">
          {remove.error.message}
        </span>
      )}
      <SaveTemplate open={saving} kind={kind} program={program} onClose={() => setSaving(false)} />
    </div>
  );
}

function SaveTemplate({
  open,
  kind,
  program,
  onClose,
}: {
  open: boolean;
  kind: BulkKind;
  program: string;
  onClose: () => void;
}) {
  const save = useSaveTemplate();
  const [name, setName] = useState("");
  const [shared, setShared] = useState(false);
  const gone = () => {
    setName("");
    setShared(false);
    save.reset();
  };
  return (
    <Dialog open={open} title="Save as template" onClose={onClose} onClosed={gone}>
      <form
        className={styles.dialog}
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() !== "") save.mutate({ name: name.trim(), kind, program, shared }, { onSuccess: onClose });
        }}
      >
        <TextInput
          size="xs"
          label="Name"
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          data-autofocus
        />
        <Checkbox
          size="xs"
          label="Share it with everybody who may edit records"
          checked={shared}
          onChange={(event) => setShared(event.currentTarget.checked)}
        />
        {save.error && (
          <div className="failed s" role="alert">
            {save.error.message}
          </div>
        )}
        <div className="row" style={{ justifyContent: "flex-end" }}>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            type="submit"
            busy={save.isPending}
            barred={name.trim() === "" ? "Enter a name first" : undefined}
          >
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
