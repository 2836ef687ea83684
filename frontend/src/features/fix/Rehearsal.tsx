import { useEffect, useRef, useState, type ReactNode } from "react";
import { Link } from "react-router";
import {
  useRehearsal,
  useRehearse,
  type RehearsalBody,
  type RehearsalResult,
  type Rehearsed,
  type Verdict,
} from "../../api/rehearsals";
import { plural } from "../../lib/format";
import type { Tone } from "../../lib/states";
import { Button, LinkButton } from "../../ui/controls";
import { Chip, Notice, Panel, Strip } from "../../ui/Panel";
import styles from "./Rehearsal.module.css";
import { passedEveryStage } from "./rehearsed";
import { RehearsalPuts, RehearsalTotals } from "./RehearsalPuts";
import { RehearsalStages } from "./RehearsalStages";

const VERDICTS: Record<Verdict, { label: string; tone: Tone }> = {
  fixed_here: { label: "Passes where it failed", tone: "passed" },
  still_fails: { label: "Fails", tone: "failed" },
  filtered: { label: "Left out", tone: "warn" },
  not_rehearsable: { label: "Not rehearsable", tone: "unknown" },
};

interface Props {
  asked: RehearsalBody;
  /** Saves what is typed, so that what is rehearsed is what would be sent. */
  before?: () => Promise<void>;
  /** Another one with every edit: a rehearsal of something else says so. */
  version?: unknown;
  barred?: string | undefined;
  onDone?: (result: RehearsalResult) => void;
  children?: ReactNode;
}

/** The records as they would be sent, through their connector's own stages; nothing stays written. */
export function Rehearsal({ asked, before, version = null, barred, onDone, children }: Props) {
  const [of, setOf] = useState<{ id: number; version: unknown } | null>(null);
  const [failure, setFailure] = useState<Error | null>(null);
  const [saving, setSaving] = useState(false);
  const rehearse = useRehearse();
  const { data, error } = useRehearsal(of?.id ?? null);
  const told = useRef<number | null>(null);
  useEffect(() => {
    if (!data || data.state === "waiting" || told.current === data.id) return;
    told.current = data.id;
    onDone?.(data);
  }, [data, onDone]);
  const busy = saving || rehearse.isPending || (of !== null && !error && (data?.state ?? "waiting") === "waiting");
  const start = async () => {
    setFailure(null);
    setSaving(true);
    try {
      await before?.();
      setOf({ id: (await rehearse.mutateAsync(asked)).id, version });
    } catch (reason) {
      setFailure(reason as Error);
    } finally {
      setSaving(false);
    }
  };
  const trouble = failure?.message ?? error?.message;
  return (
    <Panel
      className={styles.panel}
      label="Rehearsal"
      title="Rehearsal"
      aside={
        <Button small onClick={() => void start()} busy={busy} barred={barred}>
          {busy ? "Rehearsing…" : of ? "Rehearse again" : "Rehearse"}
        </Button>
      }
    >
      {children}
      {trouble && <Strip tone="failed">It was not rehearsed: {trouble}</Strip>}
      {data && of && of.version !== version && data.results.some(isRehearsable) && (
        <Strip tone="warn">The record was edited after this rehearsal. Rehearse again.</Strip>
      )}
      {data?.trouble && <Notice title="It was not rehearsed">{data.trouble}</Notice>}
      {data ? (
        <Results results={data.results} />
      ) : (
        !trouble && (
          <p className={styles.lead}>
            Runs {"bulk" in asked ? "a sample of the drafts" : "the record to be sent"} through its connector’s stages.
            Nothing is kept: the sink is called only if its connector allows it, and its rows are rolled back.
          </p>
        )
      )}
    </Panel>
  );
}

/** Whether another rehearsal may say something else after an edit. */
function isRehearsable({ verdict }: Rehearsed): boolean {
  return verdict !== "not_rehearsable";
}

function Results({ results }: { results: Rehearsed[] }) {
  const [open, setOpen] = useState<number | null>(null);
  const [only] = results;
  if (results.length === 1 && only) return <Result result={only} />;
  const counts = (Object.keys(VERDICTS) as Verdict[])
    .map((verdict) => ({ verdict, n: results.filter((one) => one.verdict === verdict).length }))
    .filter(({ n }) => n > 0);
  const passed = results.filter(passedEveryStage).length;
  return (
    <>
      {results.length > 0 && (
        <p className={styles.lead} role="status">
          {plural(results.length, "record", "records")}:{" "}
          {counts.map(({ verdict, n }) => `${n} ${VERDICTS[verdict].label.toLowerCase()}`).join(", ")}.{" "}
          <Chip tone={passed === results.length ? "passed" : "plain"}>
            {passed} of {results.length} passed every stage
          </Chip>
        </p>
      )}
      <RehearsalTotals results={results} />
      <RehearsalPuts results={results} />
      <ul className={styles.list}>
        {results.map((one) => (
          <li key={one.dead_letter.id}>
            <div className={styles.row}>
              <Said result={one} />
              <span className="sp" />
              <Link className="mono s" to={`/records/${one.dead_letter.id}`}>
                {one.dead_letter.topic} / {one.dead_letter.partition} / {one.dead_letter.offset}
              </Link>
              {one.stages.length > 0 && (
                <LinkButton onClick={() => setOpen(open === one.dead_letter.id ? null : one.dead_letter.id)}>
                  {open === one.dead_letter.id ? "Hide stages" : "Show stages"}
                </LinkButton>
              )}
            </div>
            {open === one.dead_letter.id && <RehearsalStages result={one} />}
          </li>
        ))}
      </ul>
    </>
  );
}

function Result({ result }: { result: Rehearsed }) {
  return (
    <>
      <div className={styles.row} role="status">
        <Said result={result} />
      </div>
      {result.stages.length > 0 && <RehearsalStages result={result} />}
      <RehearsalPuts results={[result]} />
    </>
  );
}

function Said({ result }: { result: Rehearsed }) {
  const { label, tone } = VERDICTS[result.verdict];
  return (
    <>
      <Chip tone={tone}>{label}</Chip> <span className={styles.said}>{result.text}</span>
    </>
  );
}
