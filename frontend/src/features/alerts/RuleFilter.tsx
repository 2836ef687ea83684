import { useRef } from "react";
import { Link } from "react-router";
import { ApiError } from "../../api/client";
import { useFollowedTotal } from "../../api/deadLetters";
import { useGroupCounts } from "../../api/groups";
import { DEFAULT_FROM, apiQuery, queryOf, writeFilter, type Filter } from "../../lib/filter";
import { count, plural } from "../../lib/format";
import { clauseTexts } from "../../lib/query";
import { QueryBar } from "../records/QueryBar";
import { queryErrorOf } from "../records/queryError";
import { EditorSection } from "./EditorSection";
import styles from "./Alerts.module.css";

const POLL_MS = 60_000;
const NO_LABELS = new Map<string, string>();

/** The filter of a rule, and what it matches now. The server refuses filters by content or time. */
export function RuleFilter({
  query,
  error,
  onChange,
}: {
  query: string;
  /** The error of the last preview or save. */
  error: Error | null;
  onChange: (query: string) => void;
}) {
  const input = useRef<HTMLInputElement>(null);
  const filter: Filter = {
    clauses: clauseTexts(query).map((text) => ({ text, off: false })),
    from: DEFAULT_FROM,
    to: "now",
  };
  const refusal =
    error instanceof ApiError && !queryErrorOf(error)
      ? error.problem.errors?.find(({ parameter }) => parameter === "query")?.message
      : undefined;
  return (
    <EditorSection title="Filter">
      <QueryBar
        filter={filter}
        groupLabels={NO_LABELS}
        error={error}
        input={input}
        isTimeless
        hint="Add a filter, such as topic:orders.*"
        onChange={(next) => onChange(queryOf(next))}
      />
      {refusal && (
        <p className="s failed" role="alert">
          {refusal.replace(/\.?$/, ".")}
        </p>
      )}
      {!error && <Matches filter={filter} />}
    </EditorSection>
  );
}

function Matches({ filter }: { filter: Filter }) {
  const asked = apiQuery(filter);
  const records = useFollowedTotal(asked, POLL_MS).data;
  const groups = useGroupCounts(`limit=1&${asked}`, POLL_MS).data?.counts;
  if (!records) return <p className={styles.matches} />;
  const groupCount = groups && (groups.unresolved ?? 0) + (groups.muted ?? 0) + (groups.resolved ?? 0);
  return (
    <p className={styles.matches}>
      Matches {records.exact ? "" : "at least "}
      {records.count === 1 ? "1 dead letter" : `${count(records.count)} dead letters`}
      {groupCount !== undefined && ` in ${plural(groupCount, "group")}`}, last 7 d.{" "}
      <Link to={`/records?${writeFilter(filter)}`}>Show them</Link>
    </p>
  );
}
