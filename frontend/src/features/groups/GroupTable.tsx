import { useMemo } from "react";
import type { Group } from "../../api/types";
import { ago, bucket, count, dateMinute } from "../../lib/format";
import type { Span } from "../../lib/span";
import { stageColours } from "../../lib/stages";
import { useNow, useZone } from "../../lib/zone";
import { Sparkline } from "../../ui/charts";
import { LinkButton } from "../../ui/controls";
import { OwnerLabel } from "../../ui/OwnerLabel";
import { Chip, join } from "../../ui/Panel";
import tables from "../../ui/tables.module.css";
import styles from "./Groups.module.css";
import { GroupStateChip } from "./GroupStateChip";
import { muteLabel } from "./mute";

interface Props {
  groups: readonly Group[];
  chosen: number | undefined;
  span: Span;
  ticked: ReadonlySet<number>;
  onChoose: (id: number) => void;
  onTick: (id: number, range: boolean) => void;
  /** Loads the next page, if there is one. */
  onMore: (() => void) | undefined;
}

/** The table of groups. A tick adds a group to the bulk actions, a click shows it in the panel below. */
export function GroupTable({ groups, chosen, span, ticked, onChoose, onTick, onMore }: Props) {
  const { zone } = useZone();
  const now = useNow(10_000);
  const colours = useMemo(
    () =>
      stageColours(
        [...groups].sort((a, b) => b.events - a.events).map((group) => ({ key: String(group.id), stage: group.stage })),
      ),
    [groups],
  );
  const bucketMs = groups.find((group) => group.sparkline)?.sparkline?.bucket_ms;
  return (
    <>
      <div className={tables.scroll}>
        <table className={join(tables.table, tables.clickable, styles.groups)}>
          <thead>
            <tr>
              <th className={styles.tick}>
                <span className="sr">Ticked</span>
              </th>
              <th>Group</th>
              <th className={styles.optional}>
                {bucketMs ? `${rangeLabel(span)} by ${bucket(bucketMs)}, own scale` : "Trend, own scale"}
              </th>
              <th className="num">Events</th>
              <th className="num" title="Records that are not passed, set aside or being replayed, of all times">
                Open
              </th>
              <th className={`num ${styles.optional}`} title="Events in this hour and the 23 hours before it">
                24 h
              </th>
              <th className={`num ${styles.optional}`} title="Events in the last 5 minutes">
                Now
              </th>
              <th
                className={`num ${styles.optional}`}
                title="Distinct keys. In a large group only the newest records are counted, and the number has a +."
              >
                Keys
              </th>
              <th className={styles.optional}>First seen</th>
              <th>Last seen</th>
              <th className={styles.optional}>Owner</th>
            </tr>
          </thead>
          <tbody>
            {groups.map((group) => (
              <tr
                key={group.id}
                className={join(group.id === chosen && styles.current, ticked.has(group.id) && styles.ticked)}
                onClick={() => onChoose(group.id)}
                aria-selected={group.id === chosen}
                data-testid="group"
              >
                <td className={styles.tick} onClick={(event) => event.stopPropagation()}>
                  <input
                    type="checkbox"
                    checked={ticked.has(group.id)}
                    aria-label={`Tick ${group.title}`}
                    onChange={() => undefined}
                    onClick={(event) => onTick(group.id, event.shiftKey)}
                  />
                </td>
                <td className={styles.title}>
                  <div className={`row ${styles.titleRow}`}>
                    <button
                      type="button"
                      className="cut"
                      aria-label={`Show ${group.title}`}
                      title={group.exception_class}
                    >
                      {group.title}
                    </button>
                    <Chip mono>{group.stage ?? "unreadable"}</Chip>
                    <GroupStateChip state={group.state} />
                    {group.fingerprint_count > 1 && (
                      <Chip title="Number of merged fingerprints">{group.fingerprint_count} merged</Chip>
                    )}
                    {group.all_closed && group.state !== "resolved" && <Chip tone="passed">✓ All passed</Chip>}
                    {group.mute && <span className="s t3 cut">{muteLabel(group.mute, zone, now)}</span>}
                  </div>
                  <div className="mono t2 cut" title={group.message}>
                    {[group.origin, group.message].filter(Boolean).join(" · ")}
                  </div>
                </td>
                <td className={styles.optional}>
                  {group.sparkline && (
                    <Sparkline
                      points={group.sparkline.points}
                      colour={colours.get(String(group.id)) ?? "var(--waiting)"}
                      label={`Events of ${group.title} over time`}
                    />
                  )}
                </td>
                <td className={styles.events}>{count(group.events)}</td>
                <td className={group.work.open > 0 ? "num b" : "num t3"}>{count(group.work.open)}</td>
                <td className={`num ${styles.optional}`}>{count(group.events_24h)}</td>
                <td className={join(group.now > 0 ? "num failed b" : "num t3", styles.optional)}>
                  {atLeast(group.now, group.now_exact)}
                </td>
                <td className={`num t2 ${styles.optional}`}>{atLeast(group.keys, group.keys_exact)}</td>
                <td className={`s t2 nw ${styles.optional}`}>{dateMinute(group.first_seen, zone)}</td>
                <td className="s nw" title={dateMinute(group.last_seen, zone)}>
                  {ago(group.last_seen, now)}
                </td>
                <td className={styles.optional}>
                  <OwnerLabel owner={group.owner} team={group.team} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {onMore && (
        <div className={tables.more}>
          <LinkButton onClick={onMore}>More groups</LinkButton>
        </div>
      )}
    </>
  );
}

function rangeLabel({ range, narrowed }: Span): string {
  return narrowed ? "Chosen time" : range.replace(/(\d+)/, "$1 ");
}

/** Format a count, with a plus sign if it is a lower bound: "1,000+". */
function atLeast(n: number, exact: boolean): string {
  return `${count(n)}${exact ? "" : "+"}`;
}
