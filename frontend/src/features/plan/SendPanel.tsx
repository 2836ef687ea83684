import { Checkbox, NumberInput, Radio, TextInput } from "@mantine/core";
import { useState } from "react";
import { useMaySend } from "../../api/health";
import type { Approval, Plan, ReplayOptions } from "../../api/replayTypes";
import { plural, span } from "../../lib/format";
import { Button, LinkButton } from "../../ui/controls";
import { Panel, Strip } from "../../ui/Panel";
import { PlanApproval } from "./PlanApproval";
import { OptionRow } from "./OptionRow";
import { AdvancedOptions } from "./AdvancedOptions";
import styles from "./Plan.module.css";

export const SAFE_RATE = 100;

interface Props {
  plan: Plan | null | undefined;
  count: number;
  options: ReplayOptions;
  onOptions: (options: ReplayOptions) => void;
  /** The cluster of the dead letters; without it the own one. */
  source?: string;
  /** Show the option to send drafts. */
  offerDrafts?: boolean;
  /** Show the option to resolve groups whose records all pass. */
  offerGroupResolution?: boolean;
  busy: boolean;
  error: Error | null;
  /** A reason to disable the Replay button, beyond the plan's checks. */
  barred: string | undefined;
  onCheck: () => void;
  /** `typed` is the confirmation text that the plan asks for. */
  onRun: (reason: string, typed: string, resolveGroups: boolean) => void;
  /** The reason of the replay that this one continues, until the person writes another. */
  knownReason?: string;
  /** The state of a second person's approval, if plans can need one. */
  approval?: Approval | undefined;
  onRequestApproval?: (reason: string) => void;
  onApprove?: () => void;
  onReject?: (reason: string) => void;
}

/** The form of a replay's options, with the button that starts it. */
export function SendPanel({
  plan,
  count,
  options,
  onOptions,
  source,
  offerDrafts,
  offerGroupResolution,
  busy,
  error,
  barred,
  onCheck,
  onRun,
  knownReason = "",
  approval,
  onRequestApproval,
  onApprove,
  onReject,
}: Props) {
  const may = useMaySend();
  const [written, setReason] = useState<string | null>(null);
  const reason = written ?? knownReason;
  const [typed, setTyped] = useState("");
  const [resolves, setResolves] = useState(false);
  const [more, setMore] = useState(false);
  const [own, setOwn] = useState(options.rate !== 0 && options.rate !== SAFE_RATE);
  const [other, setOther] = useState(options.target_topic !== "");
  const [topic, setTopic] = useState(options.target_topic);
  const set = (part: Partial<ReplayOptions>) => onOptions({ ...options, ...part });
  // A plan for another topic does not list the retry topics of the origin, so the last list is kept.
  const [retries, setRetries] = useState<string[]>([]);
  const known =
    plan && !options.target_topic && !options.shadow ? plan.targets.flatMap((one) => one.retry_topics) : null;
  if (known && known.join() !== retries.join()) setRetries(known);
  const sends = plan?.to_send ?? count;
  const asks = approval?.needed === true && !approval.approved;
  const asked = asks && approval.asked_at !== null && !approval.void;
  const word = asks ? "" : (plan?.confirm?.word ?? "");
  const stop = !may.allowed
    ? may.reason
    : (barred ??
      (plan && !plan.runnable
        ? "The plan has a blocking check"
        : asked
          ? "Waiting for an approver"
          : reason.trim() === ""
            ? "Enter a reason first"
            : word && typed.trim() !== word
              ? `Type ${word} first`
              : undefined));
  const resolvable = offerGroupResolution === true && !options.shadow && !options.target_cluster;
  const agreed = approval?.needed === true; // the approver must see this option, so it is part of the plan
  const resolving = agreed ? (options.resolve_groups ?? false) : resolves;
  const speed = own ? "own" : options.rate === 0 ? "none" : "safe";
  const target = options.shadow ? "shadow" : other ? "other" : "origin";
  const turn = (next: string) => {
    setOther(next === "other");
    const to = { target_topic: next === "other" ? options.target_topic : "", shadow: next === "shadow" };
    if (to.target_topic !== options.target_topic || to.shadow !== (options.shadow ?? false)) set(to);
  };
  return (
    <Panel
      label="Send"
      title="Send"
      aside={
        <span className="s t3">
          {options.rate > 0
            ? `about ${span(Math.max(1000, (1000 * sends) / options.rate))}, unless the replay pauses`
            : "as fast as the broker accepts records"}
        </span>
      }
    >
      <form
        className={styles.send}
        onSubmit={(event) => {
          event.preventDefault();
          if (!plan || stop) return;
          if (asks) onRequestApproval?.(reason.trim());
          else onRun(reason.trim(), typed.trim(), resolvable && resolving);
        }}
      >
        <OptionRow label="Target">
          <Radio.Group aria-label="Target" value={target} onChange={turn}>
            <div className={styles.choices}>
              <Radio size="xs" value="origin" label="origin topic" disabled={!may.allowed} />
              <Radio size="xs" value="other" label="other topic" disabled={!may.allowed} />
              <Radio size="xs" value="shadow" label="shadow" disabled={!may.allowed} />
            </div>
          </Radio.Group>
          {target !== "shadow" && retries.length > 0 && (
            <div className="s t3">
              Retry topics, read only by the group that retries:{" "}
              {retries.map((name) => (
                <span key={name} className="nw">
                  <LinkButton
                    onClick={() => {
                      setOther(true);
                      setTopic(name);
                      set({ target_topic: name, shadow: false });
                    }}
                  >
                    {name}
                  </LinkButton>{" "}
                </span>
              ))}
            </div>
          )}
          {target === "other" && (
            <TextInput
              aria-label="Topic"
              value={topic}
              placeholder="topic"
              disabled={!may.allowed}
              onChange={(event) => setTopic(event.currentTarget.value)}
              onBlur={() => topic.trim() !== options.target_topic && set({ target_topic: topic.trim() })}
              onKeyDown={(event) => event.key === "Enter" && (event.preventDefault(), event.currentTarget.blur())}
              classNames={{ input: styles.input! }}
            />
          )}
        </OptionRow>
        <OptionRow label="Speed">
          <Radio.Group
            aria-label="Speed"
            value={speed}
            onChange={(next) => (
              setOwn(next === "own"),
              next !== "own" && set({ rate: next === "none" ? 0 : SAFE_RATE })
            )}
          >
            <div className={styles.choices}>
              <Radio size="xs" value="safe" label={`${SAFE_RATE} / s, safe`} disabled={!may.allowed} />
              <Radio size="xs" value="own" label="custom limit" disabled={!may.allowed} />
              <Radio size="xs" value="none" label="no limit" disabled={!may.allowed} />
            </div>
          </Radio.Group>
          {own && (
            <NumberInput
              aria-label="Records a second"
              suffix=" / s"
              min={1}
              max={100_000}
              allowDecimal={false}
              disabled={!may.allowed}
              defaultValue={options.rate || SAFE_RATE}
              onBlur={(event) => {
                const rate = Number.parseInt(event.currentTarget.value, 10);
                if (rate > 0 && rate !== options.rate) set({ rate });
              }}
              w={110}
              classNames={{ input: styles.input! }}
            />
          )}
        </OptionRow>
        {offerDrafts && (
          <OptionRow label="Drafts">
            <Checkbox
              size="xs"
              label={
                plan
                  ? `send my drafts in place of the original records: ${plan.edited} edited`
                  : "send my drafts in place of the original records"
              }
              checked={options.use_fixes}
              disabled={!may.allowed}
              onChange={(event) => set({ use_fixes: event.currentTarget.checked })}
            />
          </OptionRow>
        )}
        {!more && options.steps !== undefined && (
          <OptionRow label="Canary">
            <span className="s">{canarySummary(options)}</span>
          </OptionRow>
        )}
        {more && <AdvancedOptions options={options} source={source} disabled={!may.allowed} set={set} />}
        <OptionRow label="Headers">
          <span className="s">
            {plan?.headers.added.length ?? 3} added <span className="mono">dlq.replay.*</span>,{" "}
            {plan ? (
              <span title={plan.headers.stripped.join("\n")}>{plan.headers.stripped.length} removed</span>
            ) : (
              "dead letter headers removed"
            )}
          </span>
          <span className="s">
            <LinkButton onClick={() => setMore(!more)}>{more ? "Fewer options" : "More options"}</LinkButton>
          </span>
        </OptionRow>
        {plan && resolvable && (
          <OptionRow label="Groups">
            <Checkbox
              size="xs"
              label="resolve each group whose chosen records all pass"
              checked={resolving}
              disabled={!may.allowed}
              onChange={(event) =>
                agreed ? set({ resolve_groups: event.currentTarget.checked }) : setResolves(event.currentTarget.checked)
              }
            />
          </OptionRow>
        )}
        {!asked && (
          <OptionRow label="Reason">
            <TextInput
              aria-label="Reason"
              value={reason}
              placeholder="reason for the audit trail"
              disabled={!may.allowed}
              onChange={(event) => setReason(event.currentTarget.value)}
              classNames={{ input: styles.input! }}
            />
          </OptionRow>
        )}
        {plan && word && (
          <OptionRow label="Confirm">
            <TextInput
              aria-label={`Type ${word}`}
              value={typed}
              placeholder={`type ${word}`}
              disabled={!may.allowed}
              onChange={(event) => setTyped(event.currentTarget.value)}
              classNames={{ input: styles.input! }}
            />
          </OptionRow>
        )}
        {error && <Strip tone="failed">{error.message}</Strip>}
        {plan && approval?.needed && (
          <PlanApproval
            approval={approval}
            busy={busy}
            error={error}
            barred={barred}
            onApprove={() => onApprove?.()}
            onReject={(why) => onReject?.(why)}
          />
        )}
        <div className="row" style={{ flexWrap: "wrap" }}>
          {plan && asks && !asked && (
            <Button kind="primary" type="submit" busy={busy} barred={stop}>
              Ask for approval of {plural(sends, "record")}
            </Button>
          )}
          {plan && !asks && (
            <Button kind="primary" type="submit" busy={busy} barred={stop}>
              Replay {plural(sends, "record")}
            </Button>
          )}
          {plan && asks && (
            <Button barred={asked ? "Waiting for an approver" : `Needs approval: ${approval.reasons.join("; ")}`}>
              Replay {plural(sends, "record")}
            </Button>
          )}
          {!plan && (
            <Button kind="primary" busy={busy} barred={may.allowed ? barred : may.reason} onClick={onCheck}>
              Check the plan of {plural(count, "record")}
            </Button>
          )}
          {stop && plan && <span className="s t3">{stop}</span>}
          {!plan && <span className="s t3">{may.allowed ? "Writes nothing to Kafka" : may.reason}</span>}
        </div>
      </form>
    </Panel>
  );
}

function canarySummary({ steps = [], breaker_percent }: ReplayOptions): string {
  const pause =
    breaker_percent === null || breaker_percent === undefined ? "" : `; pauses above ${breaker_percent} % failed again`;
  return `${steps.length > 0 ? `${[...steps, "rest"].join(" → ")}, waits for outcomes after each step` : "none, all at once"}${pause}`;
}
