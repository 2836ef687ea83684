import { useGroup } from "../../api/groups";
import type { Regrouping } from "../../api/types";
import { groupRecordsOf, recordsWith } from "../../lib/filter";
import { count, plural } from "../../lib/format";
import { inSpan, type Span } from "../../lib/span";
import { useNow, useZone } from "../../lib/zone";
import { LoadError } from "../../ui/LoadError";
import { Button } from "../../ui/controls";
import { OwnerLabel } from "../../ui/OwnerLabel";
import { RefreshError } from "../../ui/RefreshError";
import { Chip, SkeletonRows, Panel } from "../../ui/Panel";
import { BulkFixButton } from "../disposals/BulkFixButton";
import { DisposalMenu } from "../disposals/DisposalMenu";
import { ReplayButton } from "../plan/ReplayButton";
import { ReportButton } from "../reports/ReportButton";
import { RetentionLine } from "../retention/RetentionLine";
import { CommonValues } from "./CommonValues";
import { GroupActions } from "./GroupActions";
import { GroupFingerprints } from "./GroupFingerprints";
import { GroupHistory } from "./GroupHistory";
import { GroupIssues } from "./GroupIssues";
import styles from "./Groups.module.css";
import { GroupWork } from "./GroupWork";
import { GroupStateChip } from "./GroupStateChip";
import { muteLabel } from "./mute";
import { Regroupings } from "./Regroupings";

interface Props {
  id: number;
  span: Span;
  /** Whether groups are ticked: then the bulk actions have the shortcuts, and this panel offers fewer actions. */
  hasTicked: boolean;
  onRegrouped: (regrouping: Regrouping) => void;
}

/** The chosen group: its fingerprint, common values and history. */
export function GroupPanel({ id, span, hasTicked, onRegrouped }: Props) {
  const { zone } = useZone();
  const now = useNow(10_000);
  const { data: group, error, dataUpdatedAt, refetch } = useGroup(id, span);
  const filter = new URLSearchParams({ group: String(id), from: span.from, to: span.to }).toString();
  if (!group)
    return (
      <Panel className={styles.panel}>
        {error ? (
          <LoadError title="This group could not be loaded" error={error} onAgain={() => void refetch()} />
        ) : (
          <SkeletonRows rows={5} />
        )}
      </Panel>
    );
  return (
    <Panel
      className={styles.panel}
      label="Chosen group"
      title={
        <span className={styles.panelTitle}>
          <h2>{group.title}</h2>
          <span className="mono t2">{[group.origin, group.message].filter(Boolean).join(" · ")}</span>
          <GroupStateChip state={group.state} />
          {group.all_closed && group.state !== "resolved" && <Chip tone="passed">✓ All passed</Chip>}
          {(group.team ?? group.owner) && <OwnerLabel owner={group.owner} team={group.team} />}
          {group.mute && <span className="s t3 nw">{muteLabel(group.mute, zone, now)}</span>}
        </span>
      }
      aside={
        <>
          <GroupActions key={group.id} groups={[group]} hasShortcuts={!hasTicked} />
          <Button to={inSpan(recordsWith("group", group.id), span)}>Open {plural(group.events, "record")}</Button>
          <ReportButton of={`groups/${group.id}`} span={span} />
          {!hasTicked && (
            <DisposalMenu key={`aside ${group.id}`} what={{ filter }} subject={plural(group.events, "record")} />
          )}
          {!hasTicked && <BulkFixButton key={`fix ${group.id}`} what={{ filter }} />}
          {!hasTicked && group.work.open > 0 && (
            <ReplayButton key={`replay ${group.id}`} primary what={{ filter: groupRecordsOf(group.id) }}>
              Replay {count(group.work.open)} open…
            </ReplayButton>
          )}
        </>
      }
    >
      {error && <RefreshError error={error} at={dataUpdatedAt} onAgain={() => void refetch()} />}
      <GroupWork id={group.id} work={group.work} />
      <div className={styles.columns}>
        <div>
          <GroupFingerprints group={group} onSplit={onRegrouped} />
          <Regroupings regroupings={group.regroupings} />
          <RetentionLine group={group.id} />
        </div>
        <CommonValues group={group} span={span} />
        <div>
          <GroupIssues key={group.id} group={group} />
          <GroupHistory group={group} />
        </div>
      </div>
    </Panel>
  );
}
