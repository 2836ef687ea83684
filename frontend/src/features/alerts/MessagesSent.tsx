import { useState } from "react";
import { Link } from "react-router";
import { useDeliveries, useMayNotAlert, useRetryDelivery, type AlertRule, type Delivery } from "../../api/alerts";
import { dateTime, timeOfDay } from "../../lib/format";
import { useNow, useZone } from "../../lib/zone";
import { Button, LinkButton } from "../../ui/controls";
import { LoadError } from "../../ui/LoadError";
import { Glyph, Notice, Panel, SkeletonRows, join } from "../../ui/Panel";
import tables from "../../ui/tables.module.css";
import styles from "./Alerts.module.css";
import { deliveryWords, ruleOf } from "./ruleWords";

const DAY_MS = 86_400_000;

/** The messages of the last 24 hours, or all of them. */
export function MessagesSent({ rules }: { rules: readonly AlertRule[] }) {
  const list = useDeliveries();
  const [all, setAll] = useState(false);
  const now = useNow(10_000);
  const rows = list.data?.pages.flatMap((page) => page.results) ?? [];
  const shown = all ? rows : rows.filter(({ created_at: at }) => now - Date.parse(at) < DAY_MS);
  return (
    <Panel
      label="Messages sent"
      title={
        <>
          <h2>Messages sent</h2>
          <span className="s t3">{all ? "newest first" : "last 24 h"}</span>
        </>
      }
      aside={<LinkButton onClick={() => setAll(!all)}>{all ? "Last 24 h" : "All messages"}</LinkButton>}
    >
      {list.isPending && <SkeletonRows rows={3} />}
      {list.isError && !list.data && (
        <LoadError title="The messages could not be loaded" error={list.error} onAgain={() => void list.refetch()} />
      )}
      {list.data && shown.length === 0 && (
        <Notice title={all ? "No message was sent yet" : "No message in the last 24 h"} />
      )}
      {shown.length > 0 && <DeliveryTable rows={shown} rules={rules} withDay={all} />}
      {list.hasNextPage && (all || shown.length === rows.length) && (
        <div className={tables.more}>
          <LinkButton onClick={() => void list.fetchNextPage()}>Older messages</LinkButton>
        </div>
      )}
    </Panel>
  );
}

/** Messages with their results. */
export function DeliveryTable({
  rows,
  rules,
  withDay,
}: {
  rows: readonly Delivery[];
  rules?: readonly AlertRule[];
  withDay: boolean;
}) {
  const { zone } = useZone();
  const now = useNow(10_000);
  return (
    <div className={tables.scroll}>
      <table className={join(tables.compact, tables.cards, styles.messages)}>
        <thead>
          <tr>
            <th>Time</th>
            <th>{rules ? "Rule" : "Message"}</th>
            <th>To</th>
            <th>Result</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((one) => {
            const { label, glyph, tone } = deliveryWords(one, zone, now);
            return (
              <tr key={one.id} data-testid="delivery">
                <td className="mono t3 nw">
                  {withDay ? dateTime(one.created_at, zone, now) : timeOfDay(one.created_at, zone)}
                </td>
                <td title={one.subject}>
                  {rules ? <SourceName delivery={one} rules={rules} /> : <Subject text={one.subject} />}
                </td>
                <td className="t2">{one.channel_name}</td>
                <td>
                  <span className="row" style={{ gap: 6 }} title={one.result}>
                    <Glyph tone={tone}>{glyph}</Glyph>
                    <span className={styles.result}>
                      {label}
                      {(one.state === "failed" || one.state === "given_up") && one.channel !== null && (
                        <SendAgain delivery={one} />
                      )}
                    </span>
                  </span>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function SourceName({ delivery, rules }: { delivery: Delivery; rules: readonly AlertRule[] }) {
  const id = ruleOf(delivery.source);
  const rule = rules.find((one) => one.id === id);
  const test = delivery.event.endsWith("test") ? " (test)" : "";
  if (rule)
    return (
      <>
        <Link to={`/alerts/rules/${rule.id}`}>{rule.name}</Link>
        {test}
      </>
    );
  return <Subject text={delivery.subject} />;
}

/** The subject of a message. The server sends "…" to people from whom fields are masked: it may quote one. */
function Subject({ text }: { text: string }) {
  return text === "…" ? <span className="t3">hidden by masking</span> : <>{text}</>;
}

function SendAgain({ delivery }: { delivery: Delivery }) {
  const retry = useRetryDelivery();
  const barred = useMayNotAlert();
  return (
    <Button small barred={barred} busy={retry.isPending} onClick={() => retry.mutate(delivery.id)}>
      Send again
    </Button>
  );
}
