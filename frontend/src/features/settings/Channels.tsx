import { useState } from "react";
import { useChannels, useTestChannel, type Channel } from "../../api/channels";
import { useMayNotAdminister } from "../../api/session";
import { ago, dateMinute } from "../../lib/format";
import { useNow, useZone } from "../../lib/zone";
import { Button } from "../../ui/controls";
import { LoadError } from "../../ui/LoadError";
import { Chip, Glyph, Notice, PageHead, Panel, SkeletonRows, join } from "../../ui/Panel";
import tables from "../../ui/tables.module.css";
import { useTitle } from "../../ui/useTitle";
import { deliveryWords, resultWords } from "../alerts/ruleWords";
import { ChannelDialog, type ChannelQuestion } from "./ChannelDialog";
import styles from "./Channels.module.css";
import { SettingsTabs } from "./SettingsTabs";
import { CHANNEL_KINDS } from "./channelKinds";

/** The settings page of channels: the targets of messages. Administrators change them, everybody sees their names. */
export function Channels() {
  const { data, error, refetch } = useChannels();
  const barred = useMayNotAdminister();
  const [question, setQuestion] = useState<ChannelQuestion | null>(null);
  useTitle("Channels");
  const add = (
    <Button barred={barred} onClick={() => setQuestion({ act: "save", channel: null })}>
      Add channel…
    </Button>
  );
  return (
    <>
      <PageHead
        title="Channels"
        note="Alert rules send their messages to channels. Targets are stored encrypted and never shown."
      >
        {add}
      </PageHead>
      <SettingsTabs />
      <div className={styles.list}>
        <Panel label="Channels">
          {!data &&
            (error ? (
              <LoadError title="The channels could not be loaded" error={error} onAgain={() => void refetch()} />
            ) : (
              <SkeletonRows rows={4} height={40} />
            ))}
          {data?.length === 0 && (
            <Notice title="No channel yet" actions={add}>
              A channel is a webhook, e-mail addresses, or a service such as Slack.
            </Notice>
          )}
          {data && data.length > 0 && (
            <div className={tables.scroll}>
              <table className={join(tables.compact, tables.cards, styles.channels)}>
                <thead>
                  <tr>
                    <th>Channel</th>
                    <th>Target</th>
                    <th>Last message</th>
                    <th>
                      <span className="sr">Actions</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {data.map((channel) => (
                    <ChannelRow key={channel.id} channel={channel} barred={barred} onAsk={setQuestion} />
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </Panel>
      </div>
      {question && <ChannelDialog question={question} onClose={() => setQuestion(null)} />}
    </>
  );
}

function ChannelRow({
  channel,
  barred,
  onAsk,
}: {
  channel: Channel;
  barred: string | undefined;
  onAsk: (question: ChannelQuestion) => void;
}) {
  const { zone } = useZone();
  const now = useNow(10_000);
  const test = useTestChannel();
  const { name, kind, description, last_used_at: used, last_result: result } = channel;
  const answer = test.data && deliveryWords(test.data, zone, now);
  return (
    <tr data-testid="channel">
      <td>
        <span className="b">{name}</span> <Chip>{CHANNEL_KINDS[kind].label}</Chip>{" "}
        {kind === "webhook" && <Chip>signed</Chip>} {channel.may_have_samples && <Chip>may show samples</Chip>}
        <div className="s t3">
          by {channel.created_by ?? "a deleted user"}, {dateMinute(channel.created_at, zone, now)}
        </div>
      </td>
      <td className="s t2">
        {description}
        <div className="t3">stored, not shown</div>
      </td>
      <td className={styles.last}>
        {test.isPending ? (
          <span role="status">Sending a test…</span>
        ) : answer ? (
          <span className="row" role="status">
            <Glyph tone={answer.tone}>{answer.glyph}</Glyph>
            <span>
              Test {answer.label}
              {test.data?.state === "delivered" && test.data.result && `: ${test.data.result}`}
            </span>
          </span>
        ) : used ? (
          <span title={dateMinute(used, zone)}>
            {resultWords(result)}, {ago(used, now)}
          </span>
        ) : (
          <span className="t3">none yet</span>
        )}
        {test.error && (
          <div className="failed" role="alert">
            {test.error.message}
          </div>
        )}
      </td>
      <td>
        <div className={styles.actions}>
          <Button small barred={barred} busy={test.isPending} onClick={() => test.mutate(channel.id)}>
            Test
          </Button>
          {kind === "webhook" && (
            <Button small barred={barred} onClick={() => onAsk({ act: "rotate", channel })}>
              New secret…
            </Button>
          )}
          <Button small barred={barred} onClick={() => onAsk({ act: "save", channel })}>
            Change…
          </Button>
          <Button small barred={barred} onClick={() => onAsk({ act: "remove", channel })}>
            Remove…
          </Button>
        </div>
      </td>
    </tr>
  );
}
