import { Textarea } from "@mantine/core";
import { useState } from "react";
import { useNote } from "../../api/groups";
import { useMayAct } from "../../api/session";
import type { GroupDetail } from "../../api/types";
import { dateMinute } from "../../lib/format";
import { useZone } from "../../lib/zone";
import { Button } from "../../ui/controls";
import styles from "./Groups.module.css";

/** The notes and actions of a group, with a form to add a note. */
export function GroupHistory({ group }: { group: GroupDetail }) {
  const { zone } = useZone();
  return (
    <div>
      <h3>Notes and history</h3>
      {group.activity.map((entry, index) => (
        <div key={index} className={styles.historyEntry}>
          <span className="mono t3">{dateMinute(entry.at, zone)}</span>
          <span>
            {entry.actor && <b style={{ color: "var(--text)" }}>{entry.actor} </b>}
            {entry.text}
          </span>
        </div>
      ))}
      {group.activity.length === 0 && <p className="s t3">No notes or actions yet.</p>}
      <NoteForm key={group.id} id={group.id} />
    </div>
  );
}

function NoteForm({ id }: { id: number }) {
  const [text, setText] = useState("");
  const may = useMayAct();
  const act = useNote(id);
  const barred = !may.allowed ? may.reason : text.trim() === "" ? "Write the note first" : undefined;
  return (
    <form
      className={styles.noteForm}
      onSubmit={(event) => {
        event.preventDefault();
        if (!barred) act.mutate(text.trim(), { onSuccess: () => setText("") });
      }}
    >
      <Textarea
        aria-label="Note"
        placeholder={may.allowed ? "Information for the next person" : may.reason}
        disabled={!may.allowed}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        rows={2}
        style={{ flex: 1 }}
        styles={{ input: { fontSize: 12, borderColor: "var(--line-strong)", background: "var(--surface)" } }}
        error={act.error?.message}
      />
      <Button type="submit" barred={barred} busy={act.isPending}>
        Add note
      </Button>
    </form>
  );
}
