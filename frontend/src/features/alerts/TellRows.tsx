import { NativeSelect } from "@mantine/core";
import { useTestChannel, type Channel, type useChannels } from "../../api/channels";
import { useMayNotAdminister } from "../../api/session";
import { ago } from "../../lib/format";
import { useNow, useZone } from "../../lib/zone";
import { Button } from "../../ui/controls";
import controls from "../../ui/controls.module.css";
import styles from "./Alerts.module.css";
import { EditorSection, RemoveButton } from "./EditorSection";
import type { RuleDraft } from "./ruleDraft";
import { deliveryWords, resultWords } from "./ruleWords";

const MOST = 10;

/** The channels that a rule tells, at once or after the quiet hours. */
export function TellRows({
  draft,
  channels,
  onChange,
}: {
  draft: RuleDraft;
  channels: ReturnType<typeof useChannels>;
  onChange: (change: Partial<RuleDraft>) => void;
}) {
  const { tells } = draft;
  const known = channels.data ?? [];
  const left = known.filter(({ id }) => !tells.some(({ channel }) => channel === id));
  return (
    <EditorSection title="Tell">
      {tells.length === 0 && (
        <p className={styles.matches}>No channel. Alerts are recorded and shown here, and nobody is told.</p>
      )}
      {tells.map(({ channel, held }) => (
        <TellRow
          key={channel}
          channel={known.find(({ id }) => id === channel)}
          held={held}
          onHeld={(next) =>
            onChange({ tells: tells.map((one) => (one.channel === channel ? { channel, held: next } : one)) })
          }
          onRemove={() => onChange({ tells: tells.filter((one) => one.channel !== channel) })}
        />
      ))}
      {channels.error && !channels.data && <p className="s failed">{channels.error.message}</p>}
      {channels.data && known.length === 0 && <AddFirst />}
      {left.length > 0 && tells.length < MOST && (
        <div className={styles.line}>
          <NativeSelect
            size="xs"
            aria-label="Add a channel"
            value=""
            data={[
              { value: "", label: "Add a channel…" },
              ...left.map(({ id, name }) => ({ value: String(id), label: name })),
            ]}
            onChange={(event) =>
              onChange({ tells: [...tells, { channel: Number(event.currentTarget.value), held: false }] })
            }
            classNames={{ input: controls.input! }}
          />
        </div>
      )}
    </EditorSection>
  );
}

function AddFirst() {
  const barred = useMayNotAdminister();
  return (
    <div className={styles.line}>
      <span className="t2">There is no channel yet.</span>
      <Button small {...(barred ? { barred } : { to: "/settings/channels" })}>
        Add a channel…
      </Button>
    </div>
  );
}

function TellRow({
  channel,
  held,
  onHeld,
  onRemove,
}: {
  channel: Channel | undefined;
  held: boolean;
  onHeld: (held: boolean) => void;
  onRemove: () => void;
}) {
  const test = useTestChannel();
  const barred = useMayNotAdminister();
  const now = useNow(10_000);
  const { zone } = useZone();
  const name = channel?.name ?? "a channel";
  const result = test.error?.message ?? (test.data && `Test ${deliveryWords(test.data, zone, now).label}`);
  return (
    <div className={styles.tell}>
      <span className={styles.told}>
        <b>{name}</b> <span className="t3">{channel?.description}</span>
        <span className="s t3" role="status">
          {result ??
            (channel?.last_used_at
              ? `${resultWords(channel.last_result)}, ${ago(channel.last_used_at, now)}`
              : "never used")}
        </span>
      </span>
      <NativeSelect
        size="xs"
        aria-label={`When ${name} is told`}
        value={held ? "held" : "once"}
        data={[
          { value: "once", label: "at once, day and night" },
          { value: "held", label: "held in quiet hours" },
        ]}
        onChange={(event) => onHeld(event.currentTarget.value === "held")}
        classNames={{ input: controls.input! }}
      />
      <Button small barred={barred} busy={test.isPending} onClick={() => channel && test.mutate(channel.id)}>
        Test
      </Button>
      <RemoveButton label={`Do not tell ${name}`} onClick={onRemove} />
    </div>
  );
}
