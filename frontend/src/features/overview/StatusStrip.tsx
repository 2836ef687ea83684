import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "react-router";
import type { Attention, ConnectorEntry, StatusStrip as Strip } from "../../api/types";
import { ago, count, plural } from "../../lib/format";
import type { Tone } from "../../lib/states";
import { useNow } from "../../lib/zone";
import { Button } from "../../ui/controls";
import { Glyph, Panel, join } from "../../ui/Panel";
import styles from "./StatusStrip.module.css";

/** The connectors that failed, are held or wait, and a summary of the rest. */
export function StatusStrip({ answer: { data, error } }: { answer: UseQueryResult<Attention> }) {
  const now = useNow(10_000);
  return (
    <Panel label="Status" className={styles.strip}>
      {data ? (
        <Cells strip={data.strip} status={data.status} reasons={data.reasons} now={now} />
      ) : (
        <Cell tone="unknown" glyph={error ? "?" : "…"} title={error ? "The status is not known" : "Loading the status"}>
          {error?.message ?? " "}
        </Cell>
      )}
    </Panel>
  );
}

function Cells({
  strip,
  status,
  reasons,
  now,
}: {
  strip: Strip;
  status: Attention["status"];
  reasons: Attention["reasons"];
  now: number;
}) {
  const { failed, held, waiting, rest } = strip;
  // The reasons about connectors begin with a name, and their cells say the same.
  const named = [...failed, ...held, ...waiting].map(({ connector }) => `${connector}: `);
  const others = reasons.filter((reason) => !named.some((name) => reason.startsWith(name)));
  const isPartial = failed.length + held.length + waiting.length > 0;
  return (
    <>
      {others.length > 0 && (
        <Cell
          tone={status === "failing" ? "failed" : "warn"}
          glyph={status === "failing" ? "✕" : "!"}
          title={<b className={status === "failing" ? "failed" : "warn"}>{others[0]}</b>}
          isAlarm={status === "failing"}
        >
          {others.slice(1).join(" ") || "Some figures may be outdated."}
        </Cell>
      )}
      {failed.length > 0 && <FailedCell failed={failed} tasks={strip.failed_tasks} now={now} />}
      {held.length > 0 && (
        <Cell
          tone="plain"
          glyph="‖"
          title={
            <>
              <b>
                {plural(held.length, "connector")}{" "}
                {held.every(({ state }) => state === held[0]?.state) ? held[0]?.state : "paused or stopped"}:
              </b>{" "}
              <Names entries={held} />
            </>
          }
        >
          {heldWords(held[0]!, now)}
        </Cell>
      )}
      {waiting.length > 0 && (
        <Cell
          tone="warn"
          glyph="…"
          title={
            <>
              <b>{plural(waiting.length, "connector")} without a known running task:</b> <Names entries={waiting} />
            </>
          }
        >
          {waiting[0]?.text}
        </Cell>
      )}
      {(rest.text || !isPartial) && (
        <Cell
          tone={others.length > 0 ? "plain" : "passed"}
          glyph={others.length > 0 ? "·" : "✓"}
          title={
            <>
              <b>{rest.text ? (isPartial ? "The rest runs:" : "All connectors run:") : "No connectors run"}</b>{" "}
              <span className="t2">{rest.text}</span>
            </>
          }
        >
          {rest.detail}
        </Cell>
      )}
    </>
  );
}

function FailedCell({ failed, tasks, now }: { failed: readonly ConnectorEntry[]; tasks: number; now: number }) {
  const newest = failed[0]!;
  const waits = newest.lag ? `${plural(newest.lag, "record waits", "records wait")}. ` : "";
  return (
    <Cell
      tone="failed"
      glyph="✕"
      isAlarm
      title={
        <>
          <b className="failed">
            {tasks > 0 ? `${plural(tasks, "task")} failed` : `${plural(failed.length, "connector")} failed`}
          </b>
          <span className="t2">{newest.since ? ` ${ago(newest.since, now)}:` : ":"}</span> <Names entries={failed} />{" "}
          <span className="t2">
            {newest.tasks > 0 && `${count(newest.running)} of ${plural(newest.tasks, "task")} running`}
          </span>
        </>
      }
      action={
        newest.actions.length > 0 && (
          <Button kind="primary" to={newest.href}>
            Restart {newest.actions[0] === "restart_task" ? "the task" : "it"}…
          </Button>
        )
      }
    >
      {waits}
      {newest.error ?? newest.text}
    </Cell>
  );
}

function Cell({
  tone,
  glyph,
  title,
  isAlarm,
  action,
  children,
}: {
  tone: Tone;
  glyph: string;
  title: ReactNode;
  isAlarm?: boolean;
  action?: ReactNode;
  children: ReactNode;
}) {
  return (
    <div className={join(styles.cell, isAlarm && styles.alarm)}>
      <Glyph tone={tone} large>
        {glyph}
      </Glyph>
      <div className={styles.words}>
        <div className={styles.line}>{title}</div>
        <div className={join("s t2", styles.line)}>{children}</div>
      </div>
      {action}
    </div>
  );
}

function Names({ entries }: { entries: readonly ConnectorEntry[] }) {
  return entries.slice(0, 3).map(({ connector, href }, index) => (
    <span key={connector}>
      {index > 0 && ", "}
      <Link to={href}>{connector}</Link>
      {index === 2 && entries.length > 3 && ` and ${count(entries.length - 3)} more`}
    </span>
  ));
}

function heldWords({ by, reason, since, lag, state }: ConnectorEntry, now: number): string {
  const who = by ? `By ${by}` : `It is not known who ${state} it`;
  const parts = [since ? `${who}, ${ago(since, now)}` : who, reason ? `: “${reason}”` : "."];
  return `${parts.join("")}${lag === null ? "" : ` Lag ${count(lag)}.`}`;
}
