import { Textarea } from "@mantine/core";
import { useRef, useState, type KeyboardEvent, type RefObject } from "react";
import { flushSync } from "react-dom";
import { useNote } from "../../api/groups";
import { useAssignees } from "../../api/ownership";
import { useMayAct } from "../../api/session";
import { completeMention, startedMention, suggestedPeople } from "../../lib/mentions";
import { Button } from "../../ui/controls";
import { join } from "../../ui/Panel";
import styles from "./Groups.module.css";

/** A form to add a note. After "@" it suggests people. */
export function NoteForm({ id }: { id: number }) {
  const [text, setText] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const may = useMayAct();
  const act = useNote(id);
  const barred = !may.allowed ? may.reason : text.trim() === "" ? "Write the note first" : undefined;
  const mention = useMentionList(text, setText, field);
  return (
    <form
      className={styles.noteForm}
      onSubmit={(event) => {
        event.preventDefault();
        if (!barred) act.mutate(text.trim(), { onSuccess: () => setText("") });
      }}
    >
      <div className={styles.noteField}>
        <Textarea
          ref={field}
          aria-label="Note"
          placeholder={may.allowed ? "Information for the next person; @ mentions somebody" : may.reason}
          disabled={!may.allowed}
          value={text}
          onChange={(event) => (
            setText(event.currentTarget.value),
            mention.setCaret(event.currentTarget.selectionStart)
          )}
          onKeyDown={mention.onKeyDown}
          onBlur={() => mention.setCaret(null)}
          rows={2}
          styles={{ input: { fontSize: 12, borderColor: "var(--line-strong)", background: "var(--surface)" } }}
          error={act.error?.message}
          {...mention.attributes}
        />
        {mention.people.length > 0 && (
          <div role="listbox" id="mention-people" aria-label="People to mention" className={styles.mentionPeople}>
            {mention.people.map((name, index) => (
              <div
                key={name}
                id={`mention-${index}`}
                role="option"
                aria-selected={index === mention.active}
                className={join(styles.assignee, index === mention.active && styles.activeAssignee)}
                onMouseDown={(event) => (event.preventDefault(), mention.choose(name))} // keeps the focus in the field
              >
                {name}
              </div>
            ))}
          </div>
        )}
      </div>
      <Button type="submit" barred={barred} busy={act.isPending}>
        Add note
      </Button>
    </form>
  );
}

/** The people that a started mention suggests, and the keys that choose among them. A null caret: no list. */
function useMentionList(text: string, setText: (text: string) => void, field: RefObject<HTMLTextAreaElement | null>) {
  const [caret, setCaret] = useState<number | null>(null);
  const [active, setActive] = useState(0);
  const typed = caret === null ? undefined : startedMention(text, caret);
  const { data } = useAssignees(typed !== undefined);
  const people = typed === undefined ? [] : suggestedPeople(data?.people ?? [], typed);
  const choose = (name: string) => {
    const done = completeMention(text, caret ?? text.length, name);
    // The field must hold the new text before its caret can move.
    flushSync(() => (setText(done.text), setCaret(null), setActive(0)));
    field.current?.setSelectionRange(done.caret, done.caret);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (people.length === 0 || event.nativeEvent.isComposing) return;
    const acts: Record<string, () => void> = {
      ArrowDown: () => setActive((active + 1) % people.length),
      ArrowUp: () => setActive((active + people.length - 1) % people.length),
      Enter: () => choose(people[Math.min(active, people.length - 1)]!),
      Tab: () => choose(people[Math.min(active, people.length - 1)]!),
      Escape: () => setCaret(null),
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]!();
  };
  const attributes =
    people.length === 0
      ? {}
      : {
          "aria-autocomplete": "list" as const,
          "aria-controls": "mention-people",
          "aria-activedescendant": `mention-${Math.min(active, people.length - 1)}`,
        };
  return {
    people,
    active: Math.min(active, people.length - 1),
    setCaret: (next: number | null) => (setCaret(next), setActive(0)),
    choose,
    onKeyDown,
    attributes,
  };
}
