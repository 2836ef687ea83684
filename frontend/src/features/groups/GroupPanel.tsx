import { useGroup } from "../../api/groups";
import type { Regrouping } from "../../api/types";
import { recordsWith } from "../../lib/filter";
import { count, plural } from "../../lib/format";
import { inSpan, type Span } from "../../lib/span";
import { shortClass } from "../../lib/stages";
import { useNow, useZone } from "../../lib/zone";
import { LoadError } from "../../ui/LoadError";
import { Button } from "../../ui/controls";
import { RefreshError } from "../../ui/RefreshError";
import { SkeletonRows, Panel } from "../../ui/Panel";
import { FixInBulkButton } from "../disposing/FixInBulkButton";
import { SetAside } from "../disposing/SetAside";
import { ReplayButton } from "../plan/ReplayButton";
import { ReportButton } from "../reports/ReportButton";
import { RetentionLine } from "../retention/RetentionLine";
import { Common } from "./Common";
import { GroupActs } from "./GroupActs";
import styles from "./Groups.module.css";
import { State } from "./GroupTable";
import { History } from "./History";
import { muteWords } from "./mute";
import { Regroupings } from "./Regrouped";
import { Why } from "./Why";

interface Props {
  id: number;
  span: Span;
  /** Whether others are ticked, for which the keys are meant then. */
  others: boolean;
  onDone: (done: Regrouping) => void;
}

/** One group: why its records are one, what they have in common, what was done. */
export function GroupPanel({ id, span, others, onDone }: Props) {
  const { zone } = useZone();
  const now = useNow(10_000);
  const { data: group, error, dataUpdatedAt, refetch } = useGroup(id, span);
  const filter = new URLSearchParams({ group: String(id), from: span.from, to: span.to }).toString();
  if (!group)
    return (
      <Panel className={styles.detail}>
        {error ? (
          <LoadError title="This group could not be loaded" error={error} onAgain={() => void refetch()} />
        ) : (
          <SkeletonRows rows={5} />
        )}
      </Panel>
    );
  return (
    <Panel
      className={styles.detail}
      label="Chosen group"
      title={
        <span className={styles.name}>
          <b>{shortClass(group.exception_class)}</b>
          <span className="mono t2 cut">{group.message}</span>
          <State state={group.state} />
          {group.mute && <span className="s t3 nw">{muteWords(group.mute, zone, now)}</span>}
        </span>
      }
      aside={
        <>
          <GroupActs key={group.id} groups={[group]} heard={!others} />
          <Button to={inSpan(recordsWith("group", group.id), span)}>Open {count(group.events)} records</Button>
          <ReportButton of={`groups/${group.id}`} span={span} />
          {!others && <SetAside key={`aside ${group.id}`} what={{ filter }} of={plural(group.events, "record")} />}
          {!others && <FixInBulkButton key={`fix ${group.id}`} what={{ filter }} />}
          {!others && (
            <ReplayButton key={`replay ${group.id}`} primary what={{ filter }}>
              Replay {count(group.events)}…
            </ReplayButton>
          )}
        </>
      }
    >
      {error && <RefreshError error={error} at={dataUpdatedAt} onAgain={() => void refetch()} />}
      <div className={styles.columns}>
        <div>
          <Why group={group} onDone={onDone} />
          <Regroupings all={group.regroupings} />
          <RetentionLine group={group.id} />
        </div>
        <Common group={group} span={span} />
        <History group={group} />
      </div>
    </Panel>
  );
}
