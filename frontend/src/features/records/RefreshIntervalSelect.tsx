import styles from "./Records.module.css";

/** The intervals between checks for new records; 0 means never. */
export const REFRESH_INTERVALS_MS = [0, 10_000, 60_000] as const;
const LABELS: Record<number, string> = { 0: "off", 10_000: "10 s", 60_000: "1 min" };

export function readRefreshInterval(kept: string | null): number {
  return REFRESH_INTERVALS_MS.find((one) => String(one) === kept) ?? 10_000;
}

/** A select for the interval between checks. The list shows new records only after a click, so rows never move. */
export function RefreshIntervalSelect({ ms, onChange }: { ms: number; onChange: (ms: number) => void }) {
  return (
    <label className={styles.refreshInterval}>
      <span className="t3">check for new records</span>
      <select value={ms} onChange={(event) => onChange(Number(event.currentTarget.value))}>
        {REFRESH_INTERVALS_MS.map((one) => (
          <option key={one} value={one}>
            {LABELS[one]}
          </option>
        ))}
      </select>
    </label>
  );
}
