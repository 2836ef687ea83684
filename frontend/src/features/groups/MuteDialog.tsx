import { NumberInput, Radio } from "@mantine/core";
import { useState } from "react";
import type { MuteUntil } from "../../api/groups";
import { ConfirmDialog } from "../../ui/Dialog";
import controls from "../../ui/controls.module.css";
import styles from "./Groups.module.css";
import { MUTE_CHOICES, muteUntil, returnCondition, type MuteChoice } from "./mute";

const DEFAULT_EVENTS = 100;

interface Props {
  open: boolean;
  /** The groups, for the title: "this group", "3 groups". */
  subject: string;
  busy: boolean;
  error: string | null;
  onClose: () => void;
  onConfirm: (until: MuteUntil, reason: string) => void;
}

/** A dialog that mutes groups until a time, a number of events, or a decision. */
export function MuteDialog({ open, subject, busy, error, onClose, onConfirm }: Props) {
  const [choice, setChoice] = useState<MuteChoice>("24h");
  const [events, setEvents] = useState<number>(DEFAULT_EVENTS);
  return (
    <ConfirmDialog
      open={open}
      title={`Mute ${subject}`}
      inputLabel="Reason"
      required
      confirmLabel="Mute"
      busy={busy}
      error={error}
      onClose={onClose}
      onConfirm={(reason) => onConfirm(muteUntil(choice, events, Date.now()), reason)}
    >
      <div className={styles.dialogFields}>
        <p>
          A muted group leaves the unresolved groups and {returnCondition(choice, events)}. Its records are still
          indexed and counted.
        </p>
        <Radio.Group aria-label="Mute" value={choice} onChange={(next) => setChoice(next as MuteChoice)}>
          <div className={styles.options}>
            {MUTE_CHOICES.map(({ value, label }) => (
              <Radio key={value} size="xs" value={value} label={label} />
            ))}
          </div>
        </Radio.Group>
        {(choice === "events" || choice === "rate") && (
          <NumberInput
            label="Events"
            value={events}
            min={1}
            max={2_147_483_647}
            clampBehavior="strict"
            allowDecimal={false}
            hideControls
            onChange={(next) => setEvents(Math.max(1, Number(next) || 1))}
            classNames={{ label: controls.label!, input: controls.input! }}
          />
        )}
      </div>
    </ConfirmDialog>
  );
}
