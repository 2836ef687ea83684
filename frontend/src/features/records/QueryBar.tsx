import { useState, type ReactNode, type RefObject } from "react";
import { keptQuery, queryOf, typed, type Clause, type Filter } from "../../lib/filter";
import { pieces, unit } from "../../lib/query";
import { RANGES, boundWords } from "../../lib/ranges";
import { useZone } from "../../lib/zone";
import { join } from "../../ui/Panel";
import { QueryChip } from "./QueryChip";
import { QueryInput } from "./QueryInput";
import { faultOf, type Fault } from "./fault";
import styles from "./QueryBar.module.css";
import { rememberSearch } from "./recent";

interface Props {
  filter: Filter;
  groupLabels: Map<string, string>;
  /** Why the server did not answer, if it did not. */
  error: Error | null;
  onChange: (filter: Filter) => void;
  children: ReactNode;
  input: RefObject<HTMLInputElement | null>;
}

/** The query as chips, and a line to type more of it; a query that the server can't take is marked at its fault. */
export function QueryBar({ filter, groupLabels, error, onChange, children, input }: Props) {
  const [text, setText] = useState("");
  const { zone } = useZone();
  const wrong = faultOf(error);
  const without = (clause: Clause) => ({ ...filter, clauses: filter.clauses.filter((one) => one !== clause) });
  const switched = (clause: Clause) => ({
    ...filter,
    clauses: filter.clauses.map((one) => (one === clause ? { ...one, off: !one.off } : one)),
  });
  const edit = (clause: Clause) => {
    onChange(without(clause));
    setText([text.trim(), clause.text].filter(Boolean).join(" "));
    input.current?.focus();
  };
  const commit = () => {
    if (!text.trim()) return;
    const next = typed(filter, text, zone);
    onChange(next);
    setText("");
    rememberSearch(keptQuery(next));
  };
  const places = chipPlaces(filter);
  return (
    <>
      <form className={styles.query} role="search" onSubmit={(event) => (event.preventDefault(), commit())}>
        {filter.clauses.map((clause, index) => (
          <QueryChip
            key={index}
            clause={clause}
            groupLabels={groupLabels}
            fault={wrong && partOf(queryOf(filter), places.get(clause), wrong)}
            onSwitch={() => onChange(switched(clause))}
            onEdit={() => edit(clause)}
            onDrop={() => onChange(without(clause))}
          />
        ))}
        <TimeToken filter={filter} onChange={onChange} />
        <QueryInput
          ref={input}
          value={text}
          onChange={setText}
          onCommit={commit}
          onTakeBack={() => {
            const last = filter.clauses.at(-1);
            if (last) edit(last);
          }}
        />
        <kbd>/</kbd>
        {children}
      </form>
      {wrong && (
        <p className={join("s failed", styles.sentence)} role="alert">
          {wrong.sentence}
        </p>
      )}
    </>
  );
}

function TimeToken({ filter, onChange }: { filter: Filter; onChange: (filter: Filter) => void }) {
  const { zone } = useZone();
  const relative = filter.to === "now" && RANGES.some((one) => `now-${one.value}` === filter.from);
  return (
    <span className={join(styles.token, styles.time)}>
      <em>time</em>
      <select
        aria-label="Time"
        value={relative ? filter.from : "own"}
        onChange={(event) =>
          event.currentTarget.value !== "own" && onChange({ ...filter, from: event.currentTarget.value, to: "now" })
        }
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
      </select>
      <em aria-hidden="true">▾</em>
    </span>
  );
}

/** Where each chip stands in the query that is asked. */
function chipPlaces(filter: Filter): Map<Clause, number> {
  const asked = filter.clauses.filter((clause) => !clause.off);
  let start = 0;
  return new Map(asked.map((clause) => [clause, (start += clause.text.length + 1) - clause.text.length - 1]));
}

/** The part of a chip's text that the fault covers; null where it covers none. */
function partOf(query: string, start: number | undefined, fault: Fault): { start: number; end: number } | null {
  if (start === undefined) return null;
  const length = pieces(query).find((piece) => piece.start === start)?.text.length ?? 0;
  const from = Math.max(0, unit(query, fault.start) - start);
  const to = Math.min(length, unit(query, fault.end) - start);
  return from < to ? { start: from, end: to } : null;
}
