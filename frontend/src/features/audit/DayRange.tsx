import { TextInput } from "@mantine/core";
import { readSpan } from "../../lib/span";
import { useZone } from "../../lib/zone";
import controls from "../../ui/controls.module.css";
import styles from "./Audit.module.css";
import { dayOf, daysOf, withDays } from "./auditFilter";

/** Two date inputs, for time ranges that have no button. Both days are included. */
export function DayRange({
  params,
  onChange,
}: {
  params: URLSearchParams;
  onChange: (params: URLSearchParams) => void;
}) {
  const { zone } = useZone();
  const span = readSpan(params);
  const { first, last } = span.narrowed ? daysOf(span.from, span.to, zone) : { first: "", last: "" };
  const change = (from: string, to: string) => onChange(withDays(params, from, to, zone));
  return (
    <span className={styles.days}>
      <TextInput
        type="date"
        size="xs"
        aria-label="First day"
        value={first}
        onChange={(event) => change(event.currentTarget.value, last || dayOf(Date.now(), zone))}
        classNames={{ input: controls.input! }}
      />
      <span aria-hidden="true">–</span>
      <TextInput
        type="date"
        size="xs"
        aria-label="Last day"
        value={last}
        onChange={(event) => change(first || event.currentTarget.value, event.currentTarget.value)}
        classNames={{ input: controls.input! }}
      />
    </span>
  );
}
