import { NumberInput, Radio } from "@mantine/core";
import { useState } from "react";
import type { MuteUntil } from "../../api/groups";
import { ConfirmDialog } from "../../ui/controls";
import styles from "./Groups.module.css";
import { CHOICES, muteUntil, willReturn, type Choice } from "./mute";

const EVENTS = 100;

interface Props {
  open: boolean;
  what: string;
  busy: boolean;
  error: string | null;
  onClose: () => void;
  onYes: (until: MuteUntil, reason: string) => void;
}

/** Until when a group is out of sight. */
export function MuteDialog({ open, what, busy, error, onClose, onYes }: Props) {
  const [choice, setChoice] = useState<Choice>("24h");
  const [events, setEvents] = useState<number>(EVENTS);
  return (
    <ConfirmDialog
      open={open}
      title={`Mute ${what}`}
      inputLabel="Reason (optional)"
      confirmLabel="Mute"
      busy={busy}
      error={error}
      onClose={onClose}
      onConfirm={(reason) => onYes(muteUntil(choice, events, Date.now()), reason)}
    >
      <div className={styles.asked}>
        <p>
          It leaves the unresolved groups and {willReturn(choice, events)}. Its records are indexed and counted as
          before.
        </p>
        <Radio.Group aria-label="Mute" value={choice} onChange={(next) => setChoice(next as Choice)}>
          <div className={styles.choices}>
            {CHOICES.map((one) => (
              <Radio key={one.value} size="xs" value={one.value} label={one.label} />
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
            classNames={{ label: styles.label!, input: styles.input! }}
          />
        )}
      </div>
    </ConfirmDialog>
  );
}
