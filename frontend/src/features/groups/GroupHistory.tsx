import type { GroupDetail } from "../../api/types";
import { dateMinute } from "../../lib/format";
import { useZone } from "../../lib/zone";
import { NoteText } from "../../ui/NoteText";
import styles from "./Groups.module.css";
import { NoteForm } from "./NoteForm";

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
            {entry.kind === "note" ? <NoteText text={entry.text} /> : entry.text}
          </span>
        </div>
      ))}
      {group.activity.length === 0 && <p className="s t3">No notes or actions yet.</p>}
      <NoteForm key={group.id} id={group.id} />
    </div>
  );
}
