import { useState, type ReactNode, type Ref } from "react";
import { typed, type Clause, type Filter } from "../../lib/filter";
import { dateMinute } from "../../lib/format";
import { RANGES } from "../../lib/ranges";
import { useZone } from "../../lib/zone";
import { join } from "../../ui/Panel";
import styles from "./Records.module.css";

interface Props {
  filter: Filter;
  groupLabels: Map<string, string>;
  onChange: (filter: Filter) => void;
  children: ReactNode;
  ref: Ref<HTMLInputElement>;
}

/** The filter as chips: a chip's body switches it off, its cross takes it away. */
export function QueryBar({ filter, groupLabels, onChange, children, ref }: Props) {
  const [input, setInput] = useState("");
  const without = (clause: Clause) => ({ ...filter, clauses: filter.clauses.filter((one) => one !== clause) });
  const switched = (clause: Clause) => ({ ...filter, clauses: filter.clauses.map((one) => (one === clause ? { ...one, off: !one.off } : one)) });
  return (
    <form
      className={styles.query}
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        if (input.trim()) onChange(typed(filter, input));
        setInput("");
      }}
    >
      {filter.clauses.map((clause, index) => (
        <span key={index} className={join(styles.token, clause.exclude && styles.not, clause.off && styles.off)}>
          <button type="button" className={styles.body} title={clause.off ? "Switched off; click to switch on" : "Click to switch off"} aria-pressed={!clause.off} onClick={() => onChange(switched(clause))}>
            <em>{clause.exclude ? "not " : ""}{clause.field.replace("_", " ")}</em> {label(clause, groupLabels)}
          </button>
          <button type="button" className={styles.drop} aria-label={`Remove ${clause.field} ${clause.value}`} onClick={() => onChange(without(clause))}>×</button>
        </span>
      ))}
      {filter.text && (
        <span className={styles.token}>
          <span className={styles.body}><em>text</em> {filter.text}</span>
          <button type="button" className={styles.drop} aria-label="Remove the text" onClick={() => onChange({ ...filter, text: "" })}>×</button>
        </span>
      )}
      <TimeToken filter={filter} onChange={onChange} />
      <input ref={ref} value={input} onChange={(event) => setInput(event.currentTarget.value)} placeholder="Search messages and keys, or add stage:TASK_PUT, -key:abc …" aria-label="Add a filter, or search messages and keys" />
      <kbd>/</kbd>
      {children}
    </form>
  );
}

function TimeToken({ filter, onChange }: { filter: Filter; onChange: (filter: Filter) => void }) {
  const { zone } = useZone();
  const relative = filter.to === "now" && RANGES.some((one) => `now-${one.value}` === filter.from);
  const shown = (bound: string) => (bound.startsWith("now") ? bound : dateMinute(bound, zone));
  return (
    <span className={join(styles.token, styles.time)}>
      <em>time</em>
      <select aria-label="Time" value={relative ? filter.from : "own"} onChange={(event) => event.currentTarget.value !== "own" && onChange({ ...filter, from: event.currentTarget.value, to: "now" })}>
        {!relative && <option value="own">{shown(filter.from)} to {shown(filter.to)}</option>}
        {RANGES.map((one) => <option key={one.value} value={`now-${one.value}`}>now-{one.value} to now</option>)}
      </select>
      <em aria-hidden="true">▾</em>
    </span>
  );
}

function label(clause: Clause, groups: Map<string, string>): string {
  if (clause.field === "group") return groups.get(clause.value) ?? clause.value;
  return clause.value;
}
