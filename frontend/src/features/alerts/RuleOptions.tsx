import { Checkbox, NativeSelect, TextInput } from "@mantine/core";
import type { Channel } from "../../api/channels";
import { useMayNotRead } from "../../api/session";
import controls from "../../ui/controls.module.css";
import styles from "./Alerts.module.css";
import { EditorSection } from "./EditorSection";
import type { RuleDraft } from "./ruleDraft";
import { duration } from "./ruleWords";

const INTERVALS_S = [300, 900, 1800, 3600, 10_800, 21_600, 43_200, 86_400, 604_800];
const ESCALATIONS_S = [300, 600, 900, 1800, 3600, 7200, 14_400, 28_800];
const ZONES: readonly string[] = zones();

interface Props {
  draft: RuleDraft;
  saved: RuleDraft;
  channels: readonly Channel[];
  onChange: (change: Partial<RuleDraft>) => void;
}

/** How often and when a rule tells, and whom it tells if nobody acknowledges. */
export function RuleOptions({ draft, saved, channels, onChange }: Props) {
  return (
    <>
      <EditorSection title="At most">
        <div className={styles.line}>
          one message {draft.digest ? "of the rule" : "about a subject"} in
          <NativeSelect
            size="xs"
            aria-label="Shortest time between two messages"
            value={draft.interval_s}
            data={options(INTERVALS_S, draft.interval_s)}
            onChange={(event) => onChange({ interval_s: Number(event.currentTarget.value) })}
            classNames={{ input: controls.input! }}
          />
          {draft.interval_s !== saved.interval_s && (
            <span className="t3">Changed from {duration(saved.interval_s)}.</span>
          )}
        </div>
        <Checkbox
          size="xs"
          label="Send a digest: one message with everything that happened"
          checked={draft.digest}
          onChange={(event) => onChange({ digest: event.currentTarget.checked })}
          className={styles.check!}
          classNames={{ label: styles.checkLabel!, description: styles.checkText! }}
        />
      </EditorSection>
      <QuietHours draft={draft} onChange={onChange} />
      <Escalation draft={draft} channels={channels} onChange={onChange} />
      <Samples draft={draft} channels={channels} onChange={onChange} />
    </>
  );
}

function QuietHours({ draft: { quiet }, onChange }: Pick<Props, "draft" | "onChange">) {
  const time = (name: "start" | "end", label: string) => (
    <TextInput
      size="xs"
      type="time"
      aria-label={label}
      value={quiet?.[name] ?? ""}
      onChange={(event) => quiet && onChange({ quiet: { ...quiet, [name]: event.currentTarget.value } })}
      classNames={{ input: controls.input! }}
    />
  );
  return (
    <EditorSection title="Quiet hours">
      <Checkbox
        size="xs"
        label="Hold messages in quiet hours"
        checked={quiet !== null}
        onChange={(event) =>
          onChange({
            quiet: event.currentTarget.checked
              ? { start: "22:00", end: "07:00", zone: ownZone(), weekdays: false }
              : null,
          })
        }
        className={styles.check!}
        classNames={{ label: styles.checkLabel!, description: styles.checkText! }}
      />
      {quiet && (
        <div className={styles.line}>
          {time("start", "Start of the quiet hours")} to {time("end", "End of the quiet hours")}
          <TextInput
            size="xs"
            aria-label="Time zone of the quiet hours"
            list="time-zones"
            value={quiet.zone}
            onChange={(event) => onChange({ quiet: { ...quiet, zone: event.currentTarget.value } })}
            classNames={{ input: controls.input! }}
          />
          <datalist id="time-zones">
            {ZONES.map((zone) => (
              <option key={zone} value={zone} />
            ))}
          </datalist>
          <NativeSelect
            size="xs"
            aria-label="Days of the quiet hours"
            value={quiet.weekdays ? "weekdays" : "every"}
            data={[
              { value: "every", label: "every day" },
              { value: "weekdays", label: "Monday to Friday" },
            ]}
            onChange={(event) => onChange({ quiet: { ...quiet, weekdays: event.currentTarget.value === "weekdays" } })}
            classNames={{ input: controls.input! }}
          />
          <span className="t3">Held messages arrive as one digest.</span>
        </div>
      )}
    </EditorSection>
  );
}

function Escalation({ draft: { escalate }, channels, onChange }: Pick<Props, "draft" | "channels" | "onChange">) {
  const first = channels[0]?.id;
  return (
    <EditorSection title="Escalate">
      <Checkbox
        size="xs"
        label="Tell another channel if nobody acknowledges"
        checked={escalate !== null}
        disabled={escalate === null && first === undefined}
        description={escalate === null && first === undefined ? "Needs a channel" : undefined}
        onChange={(event) =>
          onChange({
            escalate: event.currentTarget.checked && first !== undefined ? { after_s: 1800, channel: first } : null,
          })
        }
        className={styles.check!}
        classNames={{ label: styles.checkLabel!, description: styles.checkText! }}
      />
      {escalate && (
        <div className={styles.line}>
          after
          <NativeSelect
            size="xs"
            aria-label="Time until the escalation"
            value={escalate.after_s}
            data={options(ESCALATIONS_S, escalate.after_s)}
            onChange={(event) => onChange({ escalate: { ...escalate, after_s: Number(event.currentTarget.value) } })}
            classNames={{ input: controls.input! }}
          />
          tell
          <NativeSelect
            size="xs"
            aria-label="Channel of the escalation"
            value={escalate.channel}
            data={channels.map(({ id, name }) => ({ value: String(id), label: name }))}
            onChange={(event) => onChange({ escalate: { ...escalate, channel: Number(event.currentTarget.value) } })}
            classNames={{ input: controls.input! }}
          />
          <span className="t3">in quiet hours too.</span>
        </div>
      )}
    </EditorSection>
  );
}

/** Asks whether messages show records. A rule that shows them already may always stop it. */
function Samples({ draft, channels, onChange }: Pick<Props, "draft" | "channels" | "onChange">) {
  const { samples, tells, escalate } = draft;
  const told = new Set([...tells.map(({ channel }) => channel), ...(escalate ? [escalate.channel] : [])]);
  const isAllowed = channels.some(({ id, may_have_samples: allowed }) => allowed && told.has(id));
  const cannotRead = useMayNotRead();
  const barred = cannotRead ?? (isAllowed ? undefined : "Needs a channel that may show masked samples");
  return (
    <EditorSection title="Samples">
      <Checkbox
        size="xs"
        label="Show up to 3 masked samples"
        checked={samples}
        disabled={!samples && barred !== undefined}
        description={barred ?? "In messages about a group, to channels that may show them."}
        onChange={(event) => onChange({ samples: event.currentTarget.checked })}
        className={styles.check!}
        classNames={{ label: styles.checkLabel!, description: styles.checkText! }}
      />
    </EditorSection>
  );
}

/** Return lengths of time to choose from, with the present one, which may have been set over REST. */
function options(lengths: readonly number[], present: number): { value: string; label: string }[] {
  return [...new Set([...lengths, present])]
    .sort((one, other) => one - other)
    .map((seconds) => ({ value: String(seconds), label: duration(seconds) }));
}

function ownZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
}

/** Return the names of time zones that the browser knows. Its list leaves out UTC. */
function zones(): string[] {
  return ["UTC", ...Intl.supportedValuesOf("timeZone")];
}
