import { Checkbox, NumberInput, Radio, Select, TextInput } from "@mantine/core";
import { useState } from "react";
import { useSession } from "../../api/session";
import type { OrderGuard, ReplayOptions } from "../../api/replayTypes";
import { OptionRow } from "./OptionRow";
import styles from "./Plan.module.css";

const ORDER: { value: OrderGuard; label: string }[] = [
  { value: "skip", label: "leave out older records" },
  { value: "last", label: "send only the last record per key" },
  { value: "anyway", label: "send anyway" },
];

/** Replay options that most people leave at their defaults. */
export function AdvancedOptions({
  options,
  source,
  disabled,
  set,
}: {
  options: ReplayOptions;
  /** The cluster of the dead letters; without it the own one. */
  source: string | undefined;
  disabled: boolean;
  set: (part: Partial<ReplayOptions>) => void;
}) {
  const { data: session } = useSession();
  const others = session?.clusters?.filter((one) => !one.is_read_only && one.name !== (source ?? session.cluster));
  const clusters = others?.map((one) => one.name) ?? [];
  const [steps, setSteps] = useState((options.steps ?? []).join(", "));
  const numbers = steps
    .split(/[\s,]+/)
    .filter((part) => part !== "")
    .map(Number);
  const grows = numbers.every((number, at) => Number.isInteger(number) && number > (numbers[at - 1] ?? 0));
  return (
    <>
      <OptionRow label="Same key">
        <Radio.Group
          aria-label="When the origin topic has newer records of a key"
          value={options.order ?? "skip"}
          onChange={(next) => set({ order: next as OrderGuard })}
        >
          <div className={styles.choices}>
            {ORDER.map(({ value, label }) => (
              <Radio key={value} size="xs" value={value} label={label} disabled={disabled} />
            ))}
          </div>
        </Radio.Group>
      </OptionRow>
      <OptionRow label="Canary">
        <TextInput
          aria-label="Sizes of the canary's steps"
          value={steps}
          placeholder="none"
          disabled={disabled}
          error={grows ? undefined : "Enter increasing numbers: 1, 10, 100"}
          onChange={(event) => setSteps(event.currentTarget.value)}
          onBlur={() => grows && numbers.join() !== (options.steps ?? []).join() && set({ steps: numbers })}
          onKeyDown={(event) => event.key === "Enter" && (event.preventDefault(), event.currentTarget.blur())}
          classNames={{ input: styles.input! }}
        />
      </OptionRow>
      <OptionRow label="Pause at">
        <LimitInput
          label="Percent that failed again"
          empty="no failure limit"
          suffix=" % failed again"
          max={100}
          value={options.breaker_percent ?? null}
          disabled={disabled}
          onValue={(breaker_percent) => set({ breaker_percent })}
        />
        <LimitInput
          label="Maximum consumer lag in records"
          empty="no lag limit"
          suffix=" behind"
          max={Number.MAX_SAFE_INTEGER}
          value={options.max_lag ?? null}
          disabled={disabled}
          onValue={(max_lag) => set({ max_lag })}
        />
      </OptionRow>
      <OptionRow label="Time">
        <Checkbox
          size="xs"
          label="keep the records' timestamps"
          checked={options.keep_timestamps ?? false}
          disabled={disabled}
          onChange={(event) => set({ keep_timestamps: event.currentTarget.checked })}
        />
      </OptionRow>
      <OptionRow label="Sent before">
        <Checkbox
          size="xs"
          label="send records again that a replay already sent"
          checked={options.resend}
          disabled={disabled}
          onChange={(event) => set({ resend: event.currentTarget.checked })}
        />
      </OptionRow>
      {(clusters.length > 0 || options.target_cluster) && (
        <OptionRow label="Cluster">
          <Select
            aria-label="Cluster"
            size="xs"
            className={styles.select!}
            disabled={disabled}
            allowDeselect={false}
            value={options.target_cluster ?? ""}
            data={[{ value: "", label: "its own" }, ...clusters]}
            onChange={(next) => set({ target_cluster: next ?? "" })}
          />
        </OptionRow>
      )}
    </>
  );
}

interface LimitInputProps {
  label: string;
  /** The placeholder when there is no limit. */
  empty: string;
  suffix: string;
  max: number;
  value: number | null;
  disabled: boolean;
  onValue: (value: number | null) => void;
}

/** A number that is submitted on blur; an empty field means no limit. */
function LimitInput({ label, empty, suffix, max, value, disabled, onValue }: LimitInputProps) {
  return (
    <NumberInput
      aria-label={label}
      suffix={suffix}
      placeholder={empty}
      min={0}
      max={max}
      allowDecimal={false}
      hideControls
      disabled={disabled}
      defaultValue={value ?? ""}
      onBlur={(event) => {
        const next = Number.parseInt(event.currentTarget.value.replaceAll(",", ""), 10);
        const given = Number.isNaN(next) ? null : next;
        if (given !== value) onValue(given);
      }}
      className={styles.small!}
      classNames={{ input: styles.input! }}
    />
  );
}
