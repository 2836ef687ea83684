import { Radio } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { useMuteRule } from "../../api/alerts";
import { dateMinute } from "../../lib/format";
import { useNow, useZone } from "../../lib/zone";
import { ConfirmDialog } from "../../ui/Dialog";
import styles from "./Alerts.module.css";

const HOUR_MS = 3_600_000;
const ENDS = [
  { value: "1", label: "for 1 h" },
  { value: "8", label: "for 8 h" },
  { value: "24", label: "for 24 h" },
  { value: "168", label: "for 7 d" },
  { value: "720", label: "for 30 d" },
] as const;

/** The rule that a dialog mutes; "all" for all rules that the user may operate. */
export interface MuteQuestion {
  id: number | "all";
  name: string;
}

/** Asks until when a rule tells nobody. */
export function MuteRuleDialog({ question, onClose }: { question: MuteQuestion; onClose: () => void }) {
  const mute = useMuteRule();
  return (
    <UntilDialog
      title={`Mute ${question.name}`}
      verb="Mute"
      busy={mute.isPending}
      error={mute.error?.message ?? null}
      onClose={onClose}
      onConfirm={(until) => mute.mutate({ id: question.id, until }, { onSuccess: onClose })}
    >
      {question.id === "all" ? "The rules that you may operate tell nobody" : "The rule tells nobody"} until then.
      Alerts are still recorded. Alerts that last longer are told afterwards.
    </UntilDialog>
  );
}

/** Asks for the end of a mute or snooze. */
export function UntilDialog({
  title,
  verb,
  busy,
  error,
  children,
  onClose,
  onConfirm,
}: {
  title: string;
  verb: string;
  busy: boolean;
  error: string | null;
  children: ReactNode;
  onClose: () => void;
  onConfirm: (until: string) => void;
}) {
  const [hours, setHours] = useState("8");
  const { zone } = useZone();
  const now = useNow(10_000);
  const until = (from: number) => new Date(from + Number(hours) * HOUR_MS).toISOString();
  return (
    <ConfirmDialog
      open
      title={title}
      confirmLabel={verb}
      busy={busy}
      error={error}
      onClose={onClose}
      onConfirm={() => onConfirm(until(Date.now()))}
    >
      <div className={styles.ends}>
        <p>{children}</p>
        <Radio.Group aria-label={verb} value={hours} onChange={setHours}>
          <div className={styles.choices}>
            {ENDS.map(({ value, label }) => (
              <Radio key={value} size="xs" value={value} label={label} classNames={{ label: styles.checkLabel! }} />
            ))}
          </div>
        </Radio.Group>
        <p className="s t3">Until {dateMinute(until(now), zone, now)}.</p>
      </div>
    </ConfirmDialog>
  );
}
