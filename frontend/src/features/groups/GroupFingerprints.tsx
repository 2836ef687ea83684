import { useState, type ReactNode } from "react";
import { useRegroup } from "../../api/groups";
import { useMayWrite } from "../../api/session";
import type { Fingerprint, GroupDetail, Regrouping } from "../../api/types";
import { count, percent, plural } from "../../lib/format";
import { Button } from "../../ui/controls";
import { ConfirmDialog } from "../../ui/Dialog";
import { Facts } from "../../ui/Panel";
import styles from "./Groups.module.css";
import { NormalisedMessage } from "./NormalisedMessage";

/** The fingerprint of a group. A merged group lists each fingerprint with its share; the user can split them off. */
export function GroupFingerprints({
  group,
  onSplit,
}: {
  group: GroupDetail;
  onSplit: (regrouping: Regrouping) => void;
}) {
  const [first] = group.fingerprints;
  return (
    <>
      <h3>{group.fingerprints.length > 1 ? "Fingerprints" : "Fingerprint"}</h3>
      {group.fingerprints.length === 1 && first && <FingerprintFacts fingerprint={first} />}
      {group.fingerprints.length > 1 && <MergedFingerprints key={group.id} group={group} onSplit={onSplit} />}
    </>
  );
}

function FingerprintFacts({ fingerprint }: { fingerprint: Fingerprint }) {
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
        ...named("Origin", fingerprint.origin),
        ...named("Named fields", fingerprint.name),
        ["Message", <NormalisedMessage key="m" message={fingerprint.message} holes={fingerprint.holes} />],
        ["Placeholders", <Placeholders key="h" holes={fingerprint.holes} />],
        [
          "First frame",
          <span key="f" className="mono">
            {fingerprint.frame || "none"}
          </span>,
        ],
        [
          "Hash",
          <span key="p" className="mono" title={fingerprint.digest}>
            {fingerprint.digest.slice(0, 18)}…
          </span>,
        ],
      ]}
    />
  );
}

/** Return a row of facts, or none for an empty text. */
function named(label: string, text: string): [string, ReactNode][] {
  if (text === "") return [];
  return [
    [
      label,
      <span key={label} className="mono">
        {text}
      </span>,
    ],
  ];
}

function Placeholders({ holes }: { holes: Fingerprint["holes"] }) {
  if (holes.length === 0) return <span className="t2">none: the message is the same in every record</span>;
  return (
    <>
      {holes.map((hole, index) => (
        <span key={index} className="t2" style={{ display: "block" }}>
          <span className={styles.placeholder}>{`<${hole.name}>`}</span> for example{" "}
          <span className="mono">{hole.example}</span>
        </span>
      ))}
    </>
  );
}

function MergedFingerprints({ group, onSplit }: { group: GroupDetail; onSplit: (regrouping: Regrouping) => void }) {
  const may = useMayWrite();
  const split = useRegroup();
  const [ticked, setTicked] = useState<ReadonlySet<number>>(new Set());
  const [isDialogOpen, setDialogOpen] = useState(false);
  const chosen = group.fingerprints
    .filter((fingerprint) => ticked.has(fingerprint.id))
    .map((fingerprint) => fingerprint.id);
  const total = group.fingerprints.reduce((sum, fingerprint) => sum + fingerprint.events, 0);
  const barred = !may.allowed
    ? may.reason
    : chosen.length === 0
      ? "Select the fingerprints to split off"
      : chosen.length === group.fingerprint_count
        ? "Keep at least one fingerprint"
        : undefined;
  const tick = (id: number) =>
    setTicked(new Set(ticked.has(id) ? [...ticked].filter((other) => other !== id) : [...ticked, id]));
  return (
    <>
      <p className="s t2">
        {plural(group.fingerprint_count, "fingerprint")} are merged.
        {group.fingerprint_count > group.fingerprints.length &&
          ` The list shows the ${group.fingerprints.length} largest.`}
      </p>
      {group.fingerprints.map((fingerprint) => (
        <label
          key={fingerprint.id}
          className={styles.fingerprint}
          data-testid="fingerprint"
          title={`${fingerprint.digest}\n${fingerprint.frame}`}
        >
          <input type="checkbox" checked={ticked.has(fingerprint.id)} onChange={() => tick(fingerprint.id)} />
          <span>
            <span className="t2">
              {[
                fingerprint.exception_class.split(".").at(-1),
                fingerprint.stage,
                ...[fingerprint.origin, fingerprint.name].filter(Boolean),
              ].join(" · ")}
            </span>
            <NormalisedMessage message={fingerprint.message} holes={fingerprint.holes} />
          </span>
          <span className="num">{count(fingerprint.events)}</span>
          <span className="num t3">{percent(fingerprint.events, total, 0)}</span>
        </label>
      ))}
      <Button small barred={barred} onClick={() => setDialogOpen(true)}>
        Split off {chosen.length || ""}…
      </Button>
      <ConfirmDialog
        open={isDialogOpen}
        title={`Split off ${plural(chosen.length, "fingerprint")}`}
        inputLabel="Reason"
        required
        confirmLabel="Split off"
        busy={split.isPending}
        error={split.error?.message ?? null}
        onClose={() => setDialogOpen(false)}
        onConfirm={(reason) =>
          split.mutate(
            { act: "split", group: group.id, fingerprints: chosen, reason },
            { onSuccess: (regrouping) => (setDialogOpen(false), setTicked(new Set()), onSplit(regrouping)) },
          )
        }
      >
        They become a separate group with the same owner and state. You can undo this.
      </ConfirmDialog>
    </>
  );
}
