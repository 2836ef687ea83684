import { Select } from "@mantine/core";
import { useState } from "react";
import { useRegroup } from "../../api/groups";
import { useMayWrite } from "../../api/session";
import type { Group, Regrouping } from "../../api/types";
import { count, plural } from "../../lib/format";
import type { Span } from "../../lib/span";
import { Button, LinkButton } from "../../ui/controls";
import { ConfirmDialog } from "../../ui/Dialog";
import controls from "../../ui/controls.module.css";
import { join } from "../../ui/Panel";
import { BulkFixButton } from "../disposals/BulkFixButton";
import { DisposalMenu } from "../disposals/DisposalMenu";
import { ReplayButton } from "../plan/ReplayButton";
import { GroupActions } from "./GroupActions";
import styles from "./Groups.module.css";

interface Props {
  chosen: readonly Group[];
  shown: number;
  span: Span;
  onAll: () => void;
  onClear: () => void;
  onMerged: (regrouping: Regrouping) => void;
}

/** The number of ticked groups, with the actions on them. */
export function GroupBulkActions({ chosen, shown, span, onAll, onClear, onMerged }: Props) {
  const may = useMayWrite();
  const [isMergeOpen, setMergeOpen] = useState(false);
  const records = chosen.reduce((sum, group) => sum + group.events, 0);
  const filter = new URLSearchParams([
    ...chosen.map((group) => ["group", String(group.id)]),
    ["from", span.from],
    ["to", span.to],
  ]).toString();
  return (
    <div className={join("row s", styles.bulkActions)} role="region" aria-label="Ticked groups">
      <b>
        {plural(chosen.length, "group")}, {plural(records, "record")}
      </b>
      {chosen.length < shown && <LinkButton onClick={onAll}>Tick all {count(shown)} shown</LinkButton>}
      <LinkButton onClick={onClear}>Clear</LinkButton>
      <span className="sp" />
      <ReplayButton key={filter} primary what={{ filter }}>
        Replay {count(records)}…
      </ReplayButton>
      <BulkFixButton key={`fix ${filter}`} what={{ filter }} />
      <DisposalMenu what={{ filter }} subject={plural(records, "record")} />
      <GroupActions groups={chosen} hasShortcuts onDone={onClear} />
      <Button
        barred={!may.allowed ? may.reason : chosen.length < 2 ? "Tick two groups or more" : undefined}
        onClick={() => setMergeOpen(true)}
      >
        Merge…
      </Button>
      {isMergeOpen && <MergeDialog groups={chosen} onClose={() => setMergeOpen(false)} onMerged={onMerged} />}
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
  onMerged: (regrouping: Regrouping) => void;
}) {
  const largest = [...groups].sort((a, b) => b.events - a.events)[0];
  const [target, setTarget] = useState(String(largest?.id));
  const merge = useRegroup();
  return (
    <ConfirmDialog
      open
      title={`Merge ${plural(groups.length, "group")}`}
      inputLabel="Reason"
      required
      confirmLabel="Merge"
      busy={merge.isPending}
      error={merge.error?.message ?? null}
      onClose={onClose}
      onConfirm={(reason) =>
        merge.mutate(
          { act: "merge", groups: groups.map((group) => group.id), into: Number(target), reason },
          { onSuccess: onMerged },
        )
      }
    >
      <div className={styles.dialogFields}>
        <p>
          The groups become one group, which keeps its title, owner and state. The fingerprints do not change, so new
          records join this group. You can undo this.
        </p>
        <Select
          label="Group to keep"
          data={groups.map((group) => ({ value: String(group.id), label: `${group.title} (${count(group.events)})` }))}
          value={target}
          onChange={(next) => next && setTarget(next)}
          allowDeselect={false}
          classNames={{ label: controls.label!, input: controls.input! }}
        />
      </div>
    </ConfirmDialog>
  );
}
