import { Select } from "@mantine/core";
import { useState } from "react";
import { useRegroup } from "../../api/groups";
import { useMayWrite } from "../../api/session";
import type { Group, Regrouping } from "../../api/types";
import { count, plural } from "../../lib/format";
import type { Span } from "../../lib/span";
import { Button, ConfirmDialog, LinkButton } from "../../ui/controls";
import { join } from "../../ui/Panel";
import { FixInBulkButton } from "../disposing/FixInBulkButton";
import { SetAside } from "../disposing/SetAside";
import { ReplayButton } from "../plan/ReplayButton";
import { GroupActs } from "./GroupActs";
import styles from "./Groups.module.css";

interface Props {
  chosen: readonly Group[];
  shown: number;
  span: Span;
  onAll: () => void;
  onClear: () => void;
  onMerged: (done: Regrouping) => void;
}

/** What is ticked, and what can be done with it. */
export function BulkBar({ chosen, shown, span, onAll, onClear, onMerged }: Props) {
  const may = useMayWrite();
  const [merging, setMerging] = useState(false);
  const records = chosen.reduce((sum, group) => sum + group.events, 0);
  const filter = new URLSearchParams([
    ...chosen.map((group) => ["group", String(group.id)]),
    ["from", span.from],
    ["to", span.to],
  ]).toString();
  return (
    <div className={join("row s", styles.bulk)} role="region" aria-label="Ticked groups">
      <b>
        {plural(chosen.length, "group")}, {plural(records, "record")}
      </b>
      {chosen.length < shown && <LinkButton onClick={onAll}>Tick all {count(shown)} shown</LinkButton>}
      <LinkButton onClick={onClear}>Clear</LinkButton>
      <span className="sp" />
      <ReplayButton key={filter} primary what={{ filter }}>
        Replay {count(records)}…
      </ReplayButton>
      <FixInBulkButton key={`fix ${filter}`} what={{ filter }} />
      <SetAside what={{ filter }} of={plural(records, "record")} />
      <GroupActs groups={chosen} heard onDone={onClear} />
      <Button
        barred={!may.allowed ? may.reason : chosen.length < 2 ? "Tick two groups or more" : undefined}
        onClick={() => setMerging(true)}
      >
        Merge…
      </Button>
      {merging && <MergeDialog groups={chosen} onClose={() => setMerging(false)} onMerged={onMerged} />}
    </div>
  );
}

function MergeDialog({
  groups,
  onClose,
  onMerged,
}: {
  groups: readonly Group[];
  onClose: () => void;
  onMerged: (done: Regrouping) => void;
}) {
  const largest = [...groups].sort((a, b) => b.events - a.events)[0];
  const [into, setInto] = useState(String(largest?.id));
  const merge = useRegroup();
  return (
    <ConfirmDialog
      open
      title={`Merge ${plural(groups.length, "group")}`}
      inputLabel="Reason (optional)"
      confirmLabel="Merge"
      busy={merge.isPending}
      error={merge.error?.message ?? null}
      onClose={onClose}
      onConfirm={(reason) =>
        merge.mutate(
          { act: "merge", groups: groups.map((group) => group.id), into: Number(into), reason },
          { onSuccess: onMerged },
        )
      }
    >
      <div className={styles.asked}>
        <p>
          The groups become one group, which keeps its title, owner and state. The fingerprints do not change, so new
          records join this group. You can undo this.
        </p>
        <Select
          label="Group to keep"
          data={groups.map((group) => ({ value: String(group.id), label: `${group.title} (${count(group.events)})` }))}
          value={into}
          onChange={(next) => next && setInto(next)}
          allowDeselect={false}
          classNames={{ label: styles.label!, input: styles.input! }}
        />
      </div>
    </ConfirmDialog>
  );
}
