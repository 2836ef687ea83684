import { useState } from "react";
import { Link, useParams } from "react-router";
import {
  useAcknowledge,
  useAlert,
  useAlertRules,
  useAlertTemplates,
  useDeliveries,
  useMayNotChange,
  useSnooze,
  type Alert,
} from "../../api/alerts";
import { ago, dateMinute, dateTime } from "../../lib/format";
import { useNow, useZone } from "../../lib/zone";
import { Button } from "../../ui/controls";
import { LoadError } from "../../ui/LoadError";
import { Chip, Facts, Notice, PageHead, Panel, SkeletonRows, Strip } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import styles from "./Alerts.module.css";
import { DeliveryTable } from "./MessagesSent";
import { MuteRuleDialog, UntilDialog } from "./MuteRuleDialog";
import { factRows, firedText, stateWords, subjectLink } from "./ruleWords";

/** The page to which the link of a message leads: an alert, and who was told. Only its buttons change something. */
export function AlertDetail() {
  const id = Number(useParams().id);
  const { data, error, refetch } = useAlert(id);
  useTitle(data?.title ?? "Alert");
  if (data) return <AlertPage alert={data} />;
  return (
    <>
      <PageHead title="Alert" />
      <Panel>
        {error ? (
          <LoadError title="The alert could not be loaded" error={error} onAgain={() => void refetch()}>
            <Button to="/alerts">All alerts</Button>
          </LoadError>
        ) : (
          <SkeletonRows rows={6} height={30} />
        )}
      </Panel>
    </>
  );
}

function AlertPage({ alert }: { alert: Alert }) {
  const [asking, setAsking] = useState<"snooze" | "mute" | null>(null);
  const acknowledge = useAcknowledge();
  const snooze = useSnooze();
  const barred = useMayNotChange(alert.team);
  const link = subjectLink(alert);
  const ended = alert.ended_at !== null ? "This alert has ended" : undefined;
  const { label, glyph, tone } = stateWords(alert.state);
  const now = useNow(10_000);
  const { zone } = useZone();
  return (
    <>
      <PageHead
        title={<h1 className={styles.heading}>{alert.title}</h1>}
        note={
          <span className={styles.line}>
            <Chip tone={tone}>
              <span aria-hidden="true">{glyph}</span>
              {label}
            </Chip>
            {alert.ended_at
              ? `from ${dateMinute(alert.started_at, zone)} to ${dateMinute(alert.ended_at, zone)}`
              : `since ${dateMinute(alert.started_at, zone)}, ${ago(alert.started_at, now)}`}
          </span>
        }
      >
        {link && <Button to={link.to}>{link.label}</Button>}
        <Button barred={barred ?? ended} onClick={() => setAsking("snooze")}>
          Snooze…
        </Button>
        <Button
          barred={barred ?? (alert.rule === null ? "The rule was deleted" : undefined)}
          onClick={() => setAsking("mute")}
        >
          Mute rule…
        </Button>
        <Button
          kind="primary"
          barred={barred ?? ended ?? (alert.state === "acknowledged" ? "It is acknowledged already" : undefined)}
          busy={acknowledge.isPending}
          onClick={() => acknowledge.mutate(alert.id)}
        >
          Acknowledge
        </Button>
      </PageHead>
      {acknowledge.error && <Strip tone="failed">{acknowledge.error.message}</Strip>}
      <div className={styles.alert}>
        <AlertFacts alert={alert} />
        <Told alert={alert} />
      </div>
      {asking === "snooze" && (
        <UntilDialog
          title="Snooze this alert"
          verb="Snooze"
          busy={snooze.isPending}
          error={snooze.error?.message ?? null}
          onClose={() => setAsking(null)}
          onConfirm={(until) => snooze.mutate({ id: alert.id, until }, { onSuccess: () => setAsking(null) })}
        >
          The alert is not repeated until then. It can still be escalated.
        </UntilDialog>
      )}
      {asking === "mute" && alert.rule !== null && (
        <MuteRuleDialog question={{ id: alert.rule, name: alert.rule_name }} onClose={() => setAsking(null)} />
      )}
    </>
  );
}

function AlertFacts({ alert }: { alert: Alert }) {
  const { zone } = useZone();
  const rule = useAlertRules().data?.results.find(({ id }) => id === alert.rule);
  const kinds = useAlertTemplates().data?.kinds;
  const optional = (label: string, at: string | null): [string, string][] => (at ? [[label, dateTime(at, zone)]] : []);
  return (
    <Panel label="Alert" title="Alert">
      <div className={styles.facts}>
        <Facts
          rows={[
            [
              "Rule",
              alert.rule === null ? (
                `${alert.rule_name} (deleted)`
              ) : (
                <Link key="rule" to={`/alerts/rules/${alert.rule}`}>
                  {alert.rule_name}
                </Link>
              ),
            ],
            ["Condition", firedText(alert, rule, kinds ?? [])],
            ...(rule ? ([["Team", rule.team?.name ?? "all teams"]] as [string, string][]) : []),
            ["Firing since", dateTime(alert.started_at, zone)],
            ["Last seen", dateTime(alert.last_seen, zone)],
            ...optional("Ended", alert.ended_at),
            [
              "Acknowledged",
              alert.acknowledged_at
                ? `by ${alert.acknowledged_by}, ${dateTime(alert.acknowledged_at, zone)}`
                : "by nobody",
            ],
            ...optional("Snoozed until", alert.snoozed_until),
            ...optional("Escalated", alert.escalated_at),
            ...factRows(alert.facts, zone),
          ]}
        />
      </div>
    </Panel>
  );
}

/** The messages about an alert. Digests name several alerts, so their link leads to the list. */
function Told({ alert }: { alert: Alert }) {
  const list = useDeliveries(alert.rule === null ? undefined : `rule ${alert.rule}`);
  const own = (list.data?.pages.flatMap((page) => page.results) ?? []).filter(
    ({ link, event, created_at: at }) =>
      link.endsWith(`/alerts/firings/${alert.id}`) ||
      (alert.rule !== null && event === "alert.digest" && isDuring(at, alert)),
  );
  return (
    <Panel label="Who was told" title="Who was told">
      {list.isPending && <SkeletonRows rows={3} />}
      {list.isError && !list.data && (
        <LoadError title="The messages could not be loaded" error={list.error} onAgain={() => void list.refetch()} />
      )}
      {list.data && own.length === 0 && (
        <Notice title="No message was sent yet">
          The rule may tell no channel, be muted, or hold its messages until the quiet hours end.
        </Notice>
      )}
      {own.length > 0 && <DeliveryTable rows={own} withDay />}
    </Panel>
  );
}

function isDuring(at: string, { started_at: start, ended_at: end }: Alert): boolean {
  return at >= start && (end === null || at <= end);
}
