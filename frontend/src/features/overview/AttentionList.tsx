import type { UseQueryResult } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { useDismiss, useUndoDismissal } from "../../api/dismissals";
import { useMayAct } from "../../api/session";
import type { Attention, AttentionItem, Dismissal } from "../../api/types";
import { ago, count, dateMinute, plural, span } from "../../lib/format";
import { attentionKind } from "../../lib/states";
import { useNow, useZone } from "../../lib/zone";
import { Button, Choice, LinkButton } from "../../ui/controls";
import { LazyConfirmDialog } from "../../ui/LazyConfirmDialog";
import { SkeletonRows, Chip, Glyph, Notice, Panel } from "../../ui/Panel";
import styles from "./Overview.module.css";

const HOUR_MS = 3_600_000;
const TIMES = [
  { value: "8h", label: "8 h", ms: 8 * HOUR_MS },
  { value: "2d", label: "2 d", ms: 48 * HOUR_MS },
  { value: "change", label: "until it changes", ms: null },
] as const;
type Time = (typeof TIMES)[number]["value"];

/** What to do first. Dismissed findings and states that people chose are below. */
export function AttentionList({ answer: { data, error } }: { answer: UseQueryResult<Attention> }) {
  const [dismissing, setDismissing] = useState<AttentionItem | null>(null);
  return (
    <Panel
      label="Needs attention"
      title={
        <>
          <h2>Needs attention</h2>
          {data && <Chip>{data.items.length + data.more}</Chip>}
          <span className="s t3">worst first, then newest</span>
        </>
      }
    >
      {!data &&
        (error ? <Notice title="Not known at present">{error.message}</Notice> : <SkeletonRows rows={5} height={56} />)}
      {data?.items.map((item) => (
        <Item key={item.id} item={item} onDismiss={() => setDismissing(item)} />
      ))}
      {data?.items.length === 0 && <Notice title="Nothing needs attention" />}
      {data && data.more > 0 && (
        <div className={`s t3 ${styles.well}`}>
          {plural(data.more, "more finding")} of these kinds. <Link to="/groups?sort=open">All groups</Link>
        </div>
      )}
      {data?.ok && (
        <div className={`s t3 row ${styles.well}`} style={{ gap: 6 }}>
          <Glyph tone="passed">✓</Glyph>
          {data.ok}
        </div>
      )}
      {data && <Unlisted dismissed={data.dismissed} states={data.not_listed} />}
      {dismissing && <DismissDialog item={dismissing} onClose={() => setDismissing(null)} />}
    </Panel>
  );
}

function Item({ item, onDismiss }: { item: AttentionItem; onDismiss: () => void }) {
  const now = useNow(10_000);
  const may = useMayAct();
  const { label, glyph, tone } = attentionKind(item.kind);
  return (
    <div className={styles.item} data-testid="finding">
      <Link to={item.href} className={styles.finding}>
        <Glyph tone={tone} large>
          {glyph}
        </Glyph>
        <span style={{ minWidth: 0, flex: 1 }}>
          <span className="row" style={{ gap: 6 }}>
            <b className={`s nw ${tone}`}>{label}</b>
            <span className="sp" />
            {item.at && (
              <span className="s t3 nw">
                {Date.parse(item.at) > now ? `in ${span(Date.parse(item.at) - now)}` : ago(item.at, now)}
              </span>
            )}
          </span>
          <span className="cut b" style={{ display: "block" }} title={item.title}>
            {item.title}
          </span>
          <span className="s t2 cut" style={{ display: "block" }} title={item.text}>
            {item.text}
          </span>
        </span>
      </Link>
      <Button
        kind="quiet"
        small
        barred={may.allowed ? undefined : may.reason}
        title={`Dismiss ${item.title}`}
        onClick={onDismiss}
      >
        Dismiss…
      </Button>
    </div>
  );
}

function DismissDialog({ item, onClose }: { item: AttentionItem; onClose: () => void }) {
  const [time, setTime] = useState<Time>("8h");
  const dismiss = useDismiss(item.id);
  const ms = TIMES.find(({ value }) => value === time)?.ms ?? null;
  return (
    <LazyConfirmDialog
      title={`Dismiss “${item.title}”`}
      inputLabel="Reason"
      required
      confirmLabel="Dismiss"
      busy={dismiss.isPending}
      error={dismiss.error?.message ?? null}
      onClose={onClose}
      onConfirm={(reason) =>
        dismiss.mutate(
          { reason, until: ms === null ? null : new Date(Date.now() + ms).toISOString() },
          { onSuccess: onClose },
        )
      }
    >
      <div style={{ marginBottom: 8 }}>
        Nobody sees it in the list for this time. It comes back early if it gets worse.
      </div>
      <Choice label="Dismiss for" value={time} options={TIMES} onChange={setTime} />
    </LazyConfirmDialog>
  );
}

function Unlisted({ dismissed, states }: { dismissed: readonly Dismissal[]; states: Attention["not_listed"] }) {
  const [isOpen, setOpen] = useState(false);
  if (dismissed.length + states.length === 0) return null;
  return (
    <div className={`s t3 ${styles.well}`}>
      {dismissed.length > 0 && (
        <div>
          {count(dismissed.length)} dismissed.{" "}
          <LinkButton onClick={() => setOpen(!isOpen)}>{isOpen ? "Hide" : "Show"}</LinkButton>
        </div>
      )}
      {isOpen && dismissed.map((one) => <DismissedFinding key={one.finding} dismissal={one} />)}
      {states.map(({ subject, text, href }) => (
        <div key={subject} className="t3">
          Not listed: <Link to={href}>{subject}</Link>, {text}.
        </div>
      ))}
    </div>
  );
}

function DismissedFinding({ dismissal: { finding, title, reason, by, until } }: { dismissal: Dismissal }) {
  const { zone } = useZone();
  const may = useMayAct();
  const undo = useUndoDismissal();
  return (
    <div className="row" data-testid="dismissed" style={{ padding: "4px 0", alignItems: "flex-start" }}>
      <span style={{ flex: 1, overflowWrap: "anywhere" }}>
        <b>{title}</b> by {by}, {until ? `until ${dateMinute(until, zone)}` : "until it changes"}: “{reason}”
        {undo.error && <span className="failed"> {undo.error.message}</span>}
      </span>
      <Button
        kind="quiet"
        small
        busy={undo.isPending}
        barred={may.allowed ? undefined : may.reason}
        onClick={() => undo.mutate(finding)}
      >
        List again
      </Button>
    </div>
  );
}
