import { Checkbox, NumberInput, Radio, TextInput } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { useMayWrite } from "../../api/session";
import type { Plan, ReplayOptions } from "../../api/replayTypes";
import { plural, span } from "../../lib/format";
import { Button } from "../../ui/controls";
import { Panel, Strip } from "../../ui/Panel";
import styles from "./Plan.module.css";

export const SAFE_RATE = 100;

interface Props {
  plan: Plan | undefined;
  count: number;
  options: ReplayOptions;
  onOptions: (options: ReplayOptions) => void;
  /** Drafts are offered only where the records may have some. */
  offerDrafts?: boolean;
  busy: boolean;
  error: Error | null;
  /** Why Run waits, beyond what the plan says. */
  barred: string | undefined;
  onCheck: () => void;
  onRun: (reason: string) => void;
}

/** How it is sent, and the one button that sends it. */
export function SendPanel({ plan, count, options, onOptions, offerDrafts, busy, error, barred, onCheck, onRun }: Props) {
  const may = useMayWrite();
  const [reason, setReason] = useState("");
  const [own, setOwn] = useState(options.rate !== 0 && options.rate !== SAFE_RATE);
  const [other, setOther] = useState(options.target_topic !== "");
  const [topic, setTopic] = useState(options.target_topic);
  const set = (part: Partial<ReplayOptions>) => onOptions({ ...options, ...part });
  const sends = plan?.to_send ?? count;
  const stop = !may.allowed ? may.reason : (barred ?? (plan && !plan.runnable ? "The plan says what stops it" : reason.trim() === "" ? "Say why first" : undefined));
  const speed = own ? "own" : options.rate === 0 ? "none" : "safe";
  return (
    <Panel label="Send" title="Send" aside={<span className="s t3">{options.rate > 0 ? `about ${span(Math.max(1000, (1000 * sends) / options.rate))}, if nothing stops it` : "as fast as the broker takes it"}</span>}>
      <form
        className={styles.send}
        onSubmit={(event) => {
          event.preventDefault();
          if (plan && !stop) onRun(reason.trim());
        }}
      >
        <Line label="Target">
          <Radio.Group aria-label="Target" value={other ? "other" : "origin"} onChange={(next) => (setOther(next === "other"), next === "origin" && options.target_topic !== "" && set({ target_topic: "" }))}>
            <div className={styles.choices}>
              <Radio size="xs" value="origin" label="origin topic" disabled={!may.allowed} />
              <Radio size="xs" value="other" label="other topic" disabled={!may.allowed} />
            </div>
          </Radio.Group>
          {other && <TextInput aria-label="Topic" value={topic} placeholder="topic" disabled={!may.allowed} onChange={(event) => setTopic(event.currentTarget.value)} onBlur={() => topic.trim() !== options.target_topic && set({ target_topic: topic.trim() })} onKeyDown={(event) => event.key === "Enter" && (event.preventDefault(), event.currentTarget.blur())} classNames={{ input: styles.input! }} />}
        </Line>
        <Line label="Speed">
          <Radio.Group aria-label="Speed" value={speed} onChange={(next) => (setOwn(next === "own"), next !== "own" && set({ rate: next === "none" ? 0 : SAFE_RATE }))}>
            <div className={styles.choices}>
              <Radio size="xs" value="safe" label={`${SAFE_RATE} / s, safe`} disabled={!may.allowed} />
              <Radio size="xs" value="own" label="own limit" disabled={!may.allowed} />
              <Radio size="xs" value="none" label="no limit" disabled={!may.allowed} />
            </div>
          </Radio.Group>
          {own && <NumberInput aria-label="Records a second" suffix=" / s" min={1} max={100_000} allowDecimal={false} disabled={!may.allowed} defaultValue={options.rate || SAFE_RATE} onBlur={(event) => { const rate = Number.parseInt(event.currentTarget.value, 10); if (rate > 0 && rate !== options.rate) set({ rate }); }} w={110} classNames={{ input: styles.input! }} />}
        </Line>
        {offerDrafts && (
          <Line label="Drafts">
            <Checkbox size="xs" label={plan ? `send my drafts where there are some: ${plan.edited} edited` : "send my drafts where there are some"} checked={options.use_fixes} disabled={!may.allowed} onChange={(event) => set({ use_fixes: event.currentTarget.checked })} />
          </Line>
        )}
        <Line label="Sent before">
          <Checkbox size="xs" label="send again, although a replay sent it" checked={options.resend} disabled={!may.allowed} onChange={(event) => set({ resend: event.currentTarget.checked })} />
        </Line>
        <Line label="Headers">
          <span className="s">
            {plan?.headers.added.length ?? 3} added <span className="mono">dlq.replay.*</span>, {plan ? <span title={plan.headers.stripped.join("\n")}>{plan.headers.stripped.length} left off</span> : "those of the dead letter left off"}
          </span>
        </Line>
        <Line label="Reason"><TextInput aria-label="Reason" value={reason} placeholder={may.allowed ? "why, for the audit" : may.reason} disabled={!may.allowed} onChange={(event) => setReason(event.currentTarget.value)} classNames={{ input: styles.input! }} /></Line>
        {error && <Strip tone="failed">{error.message}</Strip>}
        <div className="row" style={{ flexWrap: "wrap" }}>
          {plan ? (
            <Button kind="primary" type="submit" busy={busy} barred={stop}>Replay {plural(sends, "record")}</Button>
          ) : (
            <Button kind="primary" busy={busy} barred={may.allowed ? undefined : may.reason} onClick={onCheck}>Check the plan of {plural(count, "record")}</Button>
          )}
          {stop && plan && <span className="s t3">{stop}</span>}
          {!plan && <span className="s t3">{may.allowed ? "Writes nothing to Kafka" : may.reason}</span>}
        </div>
      </form>
    </Panel>
  );
}

function Line({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className={styles.line}>
      <span className="s t3">{label}</span>
      <div className={styles.field}>{children}</div>
    </div>
  );
}
