import type { CheckLevel, Plan } from "../../api/replayTypes";
import { count, plural, timeOfDay, took } from "../../lib/format";
import type { Tone } from "../../lib/states";
import { useZone } from "../../lib/zone";
import { LinkButton } from "../../ui/controls";
import { SkeletonRows, Glyph, Notice, Panel, Strip } from "../../ui/Panel";
import { ConsumerGroupTable } from "./ConsumerGroupTable";
import styles from "./Plan.module.css";

const LEVELS: Record<CheckLevel, { glyph: string; tone: Tone; says: string }> = {
  ok: { glyph: "✓", tone: "passed", says: "passed" },
  warn: { glyph: "!", tone: "warn", says: "warning" },
  stop: { glyph: "✕", tone: "failed", says: "blocks the replay" },
};

interface Props {
  plan: Plan | null | undefined;
  checking: boolean;
  error: Error | null;
  /** The reason why the plan is out of date. */
  stale: string | undefined;
  onCheck: (() => void) | undefined;
  /** The text before the first check. */
  before?: string;
}

/** The plan of a replay: checks, consumer groups and record counts per target. */
export function PlanPanel({ plan, checking, error, stale, onCheck, before }: Props) {
  const { zone } = useZone();
  return (
    <Panel
      label="Plan"
      title={
        <>
          <h2>Plan</h2>
          {plan && <CheckCounts plan={plan} />}
        </>
      }
      aside={
        <span className="s t3" role="status">
          {checking ? "Checking…" : plan && `checked ${timeOfDay(plan.checked_at, zone)}, ${took(plan.took_ms)}`}{" "}
          {plan && onCheck && !checking && <LinkButton onClick={onCheck}>Check again</LinkButton>}
        </span>
      }
    >
      {error && (
        <div className={styles.strip}>
          <Strip tone="failed">{error.message}</Strip>
        </div>
      )}
      {stale && plan && (
        <div className={styles.strip}>
          <Strip tone="warn">{stale}</Strip>
        </div>
      )}
      {!plan && (checking ? <SkeletonRows rows={6} /> : <Notice title="Not checked yet">{before}</Notice>)}
      {plan && (
        <div className={styles.checks} style={checking || stale ? { opacity: 0.6 } : undefined} data-testid="plan">
          {plan.checks.map((check, index) => (
            <div key={index} className={styles.check} data-level={check.level}>
              <Glyph tone={LEVELS[check.level].tone}>{LEVELS[check.level].glyph}</Glyph>
              <div>
                <b>{check.title}</b> <span className="sr">({LEVELS[check.level].says})</span>
                <p className="s t2">{check.text}</p>
              </div>
            </div>
          ))}
        </div>
      )}
      {plan && plan.targets.some((target) => target.groups.length > 0) && <ConsumerGroupTable plan={plan} />}
      {plan && plan.targets.length > 0 && <TargetPartitions plan={plan} />}
    </Panel>
  );
}

function CheckCounts({ plan }: { plan: Plan }) {
  return (
    <span className="row s">
      {(["ok", "warn", "stop"] as const).map((level) => {
        const found = plan.checks.filter((check) => check.level === level).length;
        return (
          found > 0 && (
            <span key={level} className={LEVELS[level].tone}>
              {found} {LEVELS[level].glyph}
              <span className="sr"> {LEVELS[level].says}</span>
            </span>
          )
        );
      })}
    </span>
  );
}

function TargetPartitions({ plan }: { plan: Plan }) {
  return (
    <div className={styles.targets}>
      {plan.targets.map((target) => (
        <div key={target.topic} className="s t2">
          <span className="mono">{target.topic}</span>{" "}
          {target.partitions
            .map(
              ({ partition, count: size }) =>
                `${partition === null ? "by key" : `partition ${partition}`}: ${count(size)}`,
            )
            .join(", ")}
        </div>
      ))}
      <div className="s t3">
        {plural(plan.total, "record")} = {count(plan.to_send)} to send
        {plan.skipped.map((one) => ` + ${count(one.count)} left out (${one.reason.replaceAll("_", " ")})`)}
        {plan.edited > 0 && `; ${count(plan.edited)} edited`}
      </div>
    </div>
  );
}
