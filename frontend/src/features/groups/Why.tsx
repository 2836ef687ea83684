import { useState } from "react";
import { useRegroup } from "../../api/groups";
import { useMayWrite } from "../../api/session";
import type { Fingerprint, GroupDetail, Regrouping } from "../../api/types";
import { count, percent, plural } from "../../lib/format";
import { Button, ConfirmDialog } from "../../ui/controls";
import { Facts } from "../../ui/Panel";
import styles from "./Groups.module.css";
import { Message } from "./Message";

/** The fingerprint of the group; of a merged one each with its share, to be split off again. */
export function Why({ group, onDone }: { group: GroupDetail; onDone: (done: Regrouping) => void }) {
  const [first] = group.fingerprints;
  return (
    <>
      <h3>Why these are one group</h3>
      {group.fingerprints.length === 1 && first && <One fingerprint={first} />}
      {group.fingerprints.length > 1 && <Several key={group.id} group={group} onDone={onDone} />}
    </>
  );
}

function One({ fingerprint }: { fingerprint: Fingerprint }) {
  return (
    <Facts
      rows={[
        [
          "Exception",
          <span key="e" className="mono">
            {fingerprint.exception_class}
          </span>,
        ],
        [
          "Stage",
          <span key="s" className="mono">
            {fingerprint.stage}
          </span>,
        ],
        ["Message", <Message key="m" message={fingerprint.message} holes={fingerprint.holes} />],
        ["Holes", <Holes key="h" holes={fingerprint.holes} />],
        [
          "First frame",
          <span key="f" className="mono">
            {fingerprint.frame || "none"}
          </span>,
        ],
        [
          "Fingerprint",
          <span key="p" className="mono" title={fingerprint.digest}>
            {fingerprint.digest.slice(0, 18)}…
          </span>,
        ],
      ]}
    />
  );
}

function Holes({ holes }: { holes: Fingerprint["holes"] }) {
  if (holes.length === 0) return <span className="t2">none: the message is the same in every record</span>;
  return (
    <>
      {holes.map((hole, index) => (
        <span key={index} className="t2" style={{ display: "block" }}>
          <span className={styles.hole}>{`<${hole.name}>`}</span> for example{" "}
          <span className="mono">{hole.example}</span>
        </span>
      ))}
    </>
  );
}

function Several({ group, onDone }: { group: GroupDetail; onDone: (done: Regrouping) => void }) {
  const may = useMayWrite();
  const split = useRegroup();
  const [ticked, setTicked] = useState<ReadonlySet<number>>(new Set());
  const [asking, setAsking] = useState(false);
  const chosen = group.fingerprints.filter((one) => ticked.has(one.id)).map((one) => one.id);
  const total = group.fingerprints.reduce((sum, one) => sum + one.events, 0);
  const barred = !may.allowed
    ? may.reason
    : chosen.length === 0
      ? "Select the fingerprints to split off"
      : chosen.length === group.fingerprint_count
        ? "Keep at least one fingerprint"
        : undefined;
  const tick = (id: number) =>
    setTicked(new Set(ticked.has(id) ? [...ticked].filter((one) => one !== id) : [...ticked, id]));
  return (
    <>
      <p className="s t2">
        {plural(group.fingerprint_count, "fingerprint")} were merged by people
        {group.fingerprint_count > group.fingerprints.length
          ? `; the ${group.fingerprints.length} largest are shown`
          : ""}
        .
      </p>
      {group.fingerprints.map((one) => (
        <label
          key={one.id}
          className={styles.fingerprint}
          data-testid="fingerprint"
          title={`${one.digest}\n${one.frame}`}
        >
          <input type="checkbox" checked={ticked.has(one.id)} onChange={() => tick(one.id)} />
          <span>
            <span className="t2">
              {one.exception_class.split(".").at(-1)} · {one.stage}
            </span>
            <Message message={one.message} holes={one.holes} />
          </span>
          <span className="num">{count(one.events)}</span>
          <span className="num t3">{percent(one.events, total, 0)}</span>
        </label>
      ))}
      <Button small barred={barred} onClick={() => setAsking(true)}>
        Split off {chosen.length || ""}…
      </Button>
      <ConfirmDialog
        open={asking}
        title={`Split off ${plural(chosen.length, "fingerprint")}`}
        inputLabel="Reason (optional)"
        confirmLabel="Split off"
        busy={split.isPending}
        error={split.error?.message ?? null}
        onClose={() => setAsking(false)}
        onConfirm={(reason) =>
          split.mutate(
            { act: "split", group: group.id, fingerprints: chosen, reason },
            { onSuccess: (done) => (setAsking(false), setTicked(new Set()), onDone(done)) },
          )
        }
      >
        They become a separate group with the same owner and state. You can undo this.
      </ConfirmDialog>
    </>
  );
}
