import { Link } from "react-router";
import type { DeadLetter } from "../../api/types";
import { count, dateMinute, plural } from "../../lib/format";
import { groupState } from "../../lib/states";
import { useZone } from "../../lib/zone";
import { Chip, Panel } from "../../ui/Panel";

export function GroupCard({ letter }: { letter: DeadLetter }) {
  const { zone } = useZone();
  const group = letter.group;
  if (!group) return null;
  const state = group.state ? groupState(group.state) : null;
  return (
    <Panel>
      <div style={{ padding: "11px 16px" }}>
        <Link className="b" to={`/groups/${group.id}`} style={{ overflowWrap: "anywhere" }}>
          {group.title}
        </Link>
        <div className="row s t3" style={{ marginTop: 4, flexWrap: "wrap" }}>
          {state && (
            <Chip tone={state.tone}>
              {state.glyph} {state.label}
            </Chip>
          )}
          {group.events !== undefined && (
            <span>
              {plural(group.events, "event")} since {dateMinute(group.first_seen, zone)}
            </span>
          )}
          {group.events_24h !== undefined && <span>{count(group.events_24h)} in 24 h</span>}
        </div>
      </div>
    </Panel>
  );
}
