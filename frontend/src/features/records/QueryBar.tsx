import { useState, type ReactNode, type RefObject } from "react";
import { flushSync } from "react-dom";
import { savedQuery, queryOf, withTyped, type Clause, type Filter } from "../../lib/filter";
import { clauseTexts, splitClauses, toUtf16Index } from "../../lib/query";
import { useZone } from "../../lib/zone";
import { join } from "../../ui/Panel";
import { ClauseChip } from "./ClauseChip";
import { QueryInput } from "./QueryInput";
import { queryErrorOf, type QueryError } from "./queryError";
import styles from "./QueryBar.module.css";
import { rememberSearch } from "./recentSearches";
import { TimeRangeSelect } from "./TimeRangeSelect";

interface Props {
  filter: Filter;
  groupLabels: Map<string, string>;
  /** The error of the last request. */
  error: Error | null;
  onChange: (filter: Filter) => void;
  children?: ReactNode;
  input: RefObject<HTMLInputElement | null>;
  /** The words in the empty input. Queries of rules have neither a time range nor content. */
  hint?: string;
  /** Whether the filter has no time range, and no clause of it can be switched off. */
  isTimeless?: boolean;
}

/** The query as chips with an input for more clauses; a syntax error is marked in its chip. */
export function QueryBar({ filter, groupLabels, error, onChange, children, input, hint, isTimeless }: Props) {
  const [text, setText] = useState("");
  const { zone } = useZone();
  const queryError = queryErrorOf(error);
  const without = (clause: Clause) => ({ ...filter, clauses: filter.clauses.filter((one) => one !== clause) });
  const toggled = (clause: Clause) => ({
    ...filter,
    clauses: filter.clauses.map((one) => (one === clause ? { ...one, off: !one.off } : one)),
  });
  const edit = (clause: Clause) => {
    onChange(without(clause));
    // The focus lists the fields if the input is still empty.
    flushSync(() => setText([text.trim(), clause.text].filter(Boolean).join(" ")));
    input.current?.focus();
  };
  const commit = () => {
    if (!text.trim()) return;
    if (isTimeless) {
      onChange({
        ...filter,
        clauses: [...filter.clauses, ...clauseTexts(text).map((one) => ({ text: one, off: false }))],
      });
      setText("");
      return;
    }
    const next = withTyped(filter, text, zone);
    onChange(next);
    setText("");
    rememberSearch(savedQuery(next));
  };
  const starts = clauseStarts(filter);
  return (
    <>
      <form className={styles.query} role="search" onSubmit={(event) => (event.preventDefault(), commit())}>
        {filter.clauses.map((clause, index) => (
          <ClauseChip
            key={index}
            clause={clause}
            groupLabels={groupLabels}
            errorRange={queryError && errorRange(queryOf(filter), starts.get(clause), queryError)}
            onToggle={isTimeless ? undefined : () => onChange(toggled(clause))}
            onEdit={() => edit(clause)}
            onRemove={() => onChange(without(clause))}
          />
        ))}
        {!isTimeless && <TimeRangeSelect filter={filter} onChange={onChange} />}
        <QueryInput
          ref={input}
          hint={hint}
          value={text}
          onChange={setText}
          onCommit={commit}
          onLeave={isTimeless ? commit : undefined}
          onEditLast={() => {
            const last = filter.clauses.at(-1);
            if (last) edit(last);
          }}
        />
        <kbd>/</kbd>
        {children}
      </form>
      {queryError && (
        <p className={join("s failed", styles.errorText)} role="alert">
          {queryError.sentence}
        </p>
      )}
    </>
  );
}

/** Return the start of each active clause in the query text, in UTF-16 units. */
function clauseStarts(filter: Filter): Map<Clause, number> {
  const asked = filter.clauses.filter((clause) => !clause.off);
  let start = 0;
  return new Map(asked.map((clause) => [clause, (start += clause.text.length + 1) - clause.text.length - 1]));
}

/** Return the part of a clause that the error covers, or null. */
function errorRange(
  query: string,
  start: number | undefined,
  fault: QueryError,
): { start: number; end: number } | null {
  if (start === undefined) return null;
  const length = splitClauses(query).find((piece) => piece.start === start)?.text.length ?? 0;
  const from = Math.max(0, toUtf16Index(query, fault.start) - start);
  const to = Math.min(length, toUtf16Index(query, fault.end) - start);
  return from < to ? { start: from, end: to } : null;
}
