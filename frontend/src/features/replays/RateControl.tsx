import { useState } from "react";
import { faster, RATES, rateWords, slower } from "../../lib/outcome";
import { Button } from "../../ui/controls";
import styles from "./RateControl.module.css";

const PRESETS = [10, 100, 1000, 0];

interface Props {
  rate: number;
  /** The highest approved speed in records per second; 0 means no limit, null means that nobody approved one. */
  approvedRate: number | null;
  barred: string | undefined;
  busy: boolean;
  onRate: (rate: number) => void;
}

/** The speed of a replay: step buttons, a slider and presets. */
export function RateControl({ rate, approvedRate, barred, busy, onRate }: Props) {
  const [held, setHeld] = useState<number | null>(null);
  const at = held ?? sliderPosition(rate);
  const words = rateWords(held === null ? rate : rateAt(held));
  const aboveApproved = (next: number) =>
    approvedRate !== null && approvedRate !== 0 && (next === 0 || next > approvedRate)
      ? `Approved for ${rateWords(approvedRate)}: a higher speed needs a new approval`
      : undefined;
  const settle = () => {
    if (held === null) return;
    if (rateAt(held) !== rate && !aboveApproved(rateAt(held))) onRate(rateAt(held));
    setHeld(null);
  };
  return (
    <div className={styles.rate} role="group" aria-label="Speed">
      <Button
        barred={barred ?? (rate === 1 ? "1 / s is the slowest" : undefined)}
        busy={busy}
        onClick={() => onRate(slower(rate))}
      >
        Slower
      </Button>
      <label className={styles.slide}>
        <b data-testid="rate">{words}</b>
        <input
          type="range"
          aria-label="Records a second"
          aria-valuetext={words}
          min={0}
          max={RATES.length}
          value={at}
          disabled={barred !== undefined}
          title={barred}
          onChange={(event) => setHeld(Number(event.currentTarget.value))}
          onPointerUp={settle}
          onKeyUp={settle}
          onBlur={settle}
        />
      </label>
      <Button
        barred={barred ?? (rate === 0 ? "There is no limit" : aboveApproved(faster(rate)))}
        busy={busy}
        onClick={() => onRate(faster(rate))}
      >
        Faster
      </Button>
      <span className={styles.presets}>
        {PRESETS.map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={one === rate}
            disabled={barred !== undefined || busy || aboveApproved(one) !== undefined}
            title={barred ?? aboveApproved(one)}
            onClick={() => onRate(one)}
          >
            {rateWords(one)}
          </button>
        ))}
      </span>
    </div>
  );
}

/** Return the slider position of a speed; the last position means no limit. */
function sliderPosition(rate: number): number {
  const found = rate === 0 ? -1 : RATES.findIndex((one) => one >= rate);
  return found < 0 ? RATES.length : found;
}

function rateAt(at: number): number {
  return RATES[at] ?? 0;
}
