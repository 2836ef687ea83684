import { useState } from "react";
import type { Filter } from "../../lib/filter";
import { RANGES, boundWords, fromInput, inputValue, isRangeEmpty } from "../../lib/ranges";
import { useZone } from "../../lib/zone";
import { Button } from "../../ui/controls";
import { join } from "../../ui/Panel";
import styles from "./QueryBar.module.css";

interface Props {
  filter: Filter;
  onChange: (filter: Filter) => void;
}

/** The time range of the list: a relative range, or a start and an end. */
export function TimeRangeSelect({ filter, onChange }: Props) {
  const { zone } = useZone();
  const [isChoosing, setChoosing] = useState(false);
  const relative = filter.to === "now" && RANGES.some((one) => `now-${one.value}` === filter.from);
  const choose = (value: string) => {
    setChoosing(value === "choose");
    if (value.startsWith("now-")) onChange({ ...filter, from: value, to: "now" });
  };
  return (
    <span className={join(styles.token, styles.time)}>
      <em>time</em>
      <select
        aria-label="Time"
        value={isChoosing ? "choose" : relative ? filter.from : "own"}
        onChange={(event) => choose(event.currentTarget.value)}
      >
        {!relative && (
          <option value="own">
            {boundWords(filter.from, zone)} to {boundWords(filter.to, zone)}
          </option>
        )}
        {RANGES.map((one) => (
          <option key={one.value} value={`now-${one.value}`}>
            now-{one.value} to now
          </option>
        ))}
        <option value="choose">Choose dates…</option>
      </select>
      <em aria-hidden="true">▾</em>
      {isChoosing && (
        <DateInputs
          key={`${filter.from} ${filter.to} ${zone}`}
          filter={filter}
          onChange={(next) => (setChoosing(false), onChange(next))}
          onClose={() => setChoosing(false)}
        />
      )}
    </span>
  );
}

/** Inputs for a start and an end in the displayed time zone. Without an end, the range ends now. */
function DateInputs({ filter, onChange, onClose }: Props & { onClose: () => void }) {
  const { zone } = useZone();
  const shown = { from: inputValue(filter.from, zone), to: filter.to === "now" ? "" : inputValue(filter.to, zone) };
  const [{ from, to }, setTyped] = useState(shown);
  // An unchanged bound keeps its seconds, which the input does not show.
  const next = {
    ...filter,
    from: from === shown.from ? filter.from : fromInput(from, zone),
    to: to === shown.to ? filter.to : fromInput(to, zone),
  };
  const fault = from === "" ? "Choose a start." : isRangeEmpty(next) ? "The end must be after the start." : "";
  const bound = (label: string, value: string, change: (value: string) => void) => (
    <input
      type="datetime-local"
      aria-label={`${label}, ${zone === "utc" ? "UTC" : "local time"}`}
      value={value}
      onChange={(event) => change(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
        if (event.key !== "Enter") return;
        event.preventDefault(); // Enter would submit the query
        if (!fault) onChange(next);
      }}
    />
  );
  return (
    <>
      {bound("Start", from, (value) => setTyped({ from: value, to }))}
      <em>to</em>
      {bound("End", to, (value) => setTyped({ from, to: value }))}
      <Button small barred={fault || undefined} onClick={() => onChange(next)}>
        Apply
      </Button>
    </>
  );
}
