import { Link } from "react-router";
import { useAcknowledge, useFiringAlerts, useMayNotChange, type AlertRule } from "../../api/alerts";
import { dateMinute } from "../../lib/format";
import { useZone } from "../../lib/zone";
import { Button } from "../../ui/controls";
import { Glyph } from "../../ui/Panel";
import styles from "./Alerts.module.css";

/** The newest alert of a rule that lasts, with the number of the others. */
export function FiringStrip({ rule }: { rule: AlertRule }) {
  const alerts = useFiringAlerts(rule).data ?? [];
  const { zone } = useZone();
  const acknowledge = useAcknowledge();
  const barred = useMayNotChange(rule.team?.id ?? null);
  const newest = alerts.find(({ state }) => state === "firing") ?? alerts[0];
  if (!newest) return null;
  const isOpen = newest.state === "firing";
  const others = alerts.length - 1;
  return (
    <div className={isOpen ? styles.firingStrip : styles.acknowledgedStrip}>
      <Glyph tone={isOpen ? "failed" : "waiting"}>{isOpen ? "✕" : "…"}</Glyph>
      <span>
        <b className={isOpen ? "failed" : undefined}>
          {isOpen ? "Firing" : "Acknowledged, firing"} since {dateMinute(newest.started_at, zone)}:
        </b>{" "}
        <Link to={`/alerts/firings/${newest.id}`}>{newest.title}</Link>.{" "}
        {isOpen ? "Nobody acknowledged it" : `${newest.acknowledged_by} acknowledged it`}
        {newest.escalated_at && `; it was escalated at ${dateMinute(newest.escalated_at, zone)}`}.
        {others > 0 && ` ${others} more.`}
        {acknowledge.error && <span className="failed"> {acknowledge.error.message}</span>}
      </span>
      {isOpen && (
        <Button small barred={barred} busy={acknowledge.isPending} onClick={() => acknowledge.mutate(newest.id)}>
          Acknowledge
        </Button>
      )}
    </div>
  );
}
