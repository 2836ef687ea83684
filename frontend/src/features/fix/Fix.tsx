import { useState } from "react";
import { Link, useParams } from "react-router";
import { useDeadLetter } from "../../api/deadLetters";
import { useDropFix, useFix } from "../../api/fixes";
import type { FixPage, Message } from "../../api/replayTypes";
import { useMayNotRead, useMayWrite } from "../../api/session";
import type { DeadLetter } from "../../api/types";
import { ago, bytes, dateTime, timeOfDay } from "../../lib/format";
import type { Part } from "../../lib/editing";
import { fixName, replayName } from "../../lib/naming";
import { itemState } from "../../lib/states";
import { useNow, useZone } from "../../lib/zone";
import { Button, ConfirmDialog, LinkButton } from "../../ui/controls";
import { SkeletonRows, Chip, Notice, PageHead, Panel, Strip } from "../../ui/Panel";
import { KeyText, WithheldNotice } from "../../ui/WithheldNotice";
import { useTitle } from "../../ui/useTitle";
import styles from "./Fix.module.css";
import { ReplayButton } from "../plan/ReplayButton";
import { FixPlan } from "./FixPlan";
import { HeaderRows } from "./HeaderRows";
import { partsOf, sameParts, type Parts } from "./parts";
import { Rehearsal } from "./Rehearsal";
import { SourceFix } from "./SourceFix";
import { Suggestions } from "./Suggestions";
import { useDraft, type DraftState } from "./useDraft";
import { ValuePanel } from "./ValuePanel";

/** What will change in this record, and what happens when it is sent? */
export function Fix() {
  const { id = "" } = useParams();
  const fix = useFix(id);
  const letter = useDeadLetter(id, "");
  const barred = useMayNotRead();
  useTitle("Fix and replay");
  if (barred)
    return (
      <Panel>
        <WithheldNotice />
      </Panel>
    );
  const error = fix.error ?? letter.error;
  if (!fix.data || !letter.data) {
    return (
      <Panel>
        {error ? (
          <Notice
            title="This record could not be loaded"
            actions={<Button to={`/records/${id}`}>Back to the record</Button>}
          >
            {error.message}
          </Notice>
        ) : (
          <SkeletonRows rows={10} />
        )}
      </Panel>
    );
  }
  const { original } = fix.data;
  if (!original && letter.data.source) return <FromSource letter={letter.data} />;
  if (!original) {
    return (
      <Panel>
        <Notice
          title={`Cannot be replayed: ${fix.data.not_replayable === "forbidden" ? "not fetched: not allowed" : (fix.data.not_replayable ?? "unknown")}`}
          actions={<Button to={`/records/${id}`}>Back to the record</Button>}
        >
          {fix.data.not_replayable === "forbidden"
            ? letter.data.not_allowed
            : fix.data.not_replayable === "expired"
              ? "The dead letter only points to its record, and Kafka no longer keeps it."
              : "The record’s own bytes are not known."}
        </Notice>
      </Panel>
    );
  }
  return <Form key={fix.dataUpdatedAt} id={id} page={{ ...fix.data, original }} letter={letter.data} />;
}

/** A record that a source connector read: there is no record in Kafka to be sent again, only one that was never written. */
function FromSource({ letter }: { letter: DeadLetter }) {
  const [written, setWritten] = useState(false);
  return (
    <>
      <PageHead
        title="Fix and replay 1 record"
        note={
          <>
            <Link className="mono" to={`/records/${letter.id}`}>
              {letter.topic} / {letter.partition} / {letter.offset}
            </Link>
            , read by the source connector <span className="mono t2">{letter.connector}</span>
          </>
        }
      >
        <Chip tone="accent">Dry run: nothing has been written</Chip>
      </PageHead>
      <SourceFix letter={letter} onWritten={setWritten} />
      <div className={styles.gap}>
        <ReplayButton
          what={{ ids: [letter.id] }}
          primary
          barred={written ? undefined : "Rehearse the record until it passes all stages"}
        >
          Plan the replay…
        </ReplayButton>
      </div>
    </>
  );
}

function Form({ id, page, letter }: { id: string; page: FixPage & { original: Message }; letter: DeadLetter }) {
  const may = useMayWrite();
  const { zone } = useZone();
  const fix = useFix(id);
  const state = useDraft(id, page);
  const [original] = useState(() => partsOf(page.original));
  const { parts, draft } = state;
  const [edits, setEdits] = useState(0);
  const [taken, setTaken] = useState(0);
  const change = (next: Parts) => {
    setEdits(edits + 1);
    state.change(next);
  };
  const take = (value: Part) => {
    change({ ...parts, value });
    setTaken(taken + 1); // whatever form the value was being typed in
  };
  return (
    <>
      <PageHead
        title="Fix and replay 1 record"
        note={
          <>
            <Link className="mono" to={`/records/${id}`}>
              {letter.topic} / {letter.partition} / {letter.offset}
            </Link>
            , key{" "}
            <span className="mono t2">
              <KeyText of={letter} />
            </span>
            , from <span className="mono t2">{letter.origin_topic ?? "an unknown topic"}</span>.{" "}
            <Saved state={state} locked={may.allowed ? undefined : may.reason} />
          </>
        }
      >
        {draft && may.allowed && <Discard id={id} name={fixName(draft.id)} />}
        <Chip tone="accent">Dry run: nothing has been written</Chip>
      </PageHead>
      {page.others.map((one) => (
        <Strip key={one.author} tone="warn">
          {one.author} has a draft of this record, changed {dateTime(one.updated_at, zone)}. Yours is kept beside it.
        </Strip>
      ))}
      {page.earlier.map((one) => (
        <Strip key={`${one.replay} ${one.at}`} tone="waiting">
          <span>
            Was in <Link to={`/replays/${one.replay}`}>{replayName(one.replay)}</Link> at {dateTime(one.at, zone)}:{" "}
            {itemState(one.item_state).label.toLowerCase()}
            {one.reason && ` (${one.reason.replaceAll("_", " ")})`}.
          </span>
        </Strip>
      ))}
      {state.conflict && (
        <Strip tone="failed">
          <span>
            {state.error?.message} What you typed stays on this screen and is not saved.{" "}
            <LinkButton onClick={() => void fix.refetch()}>Load the saved draft</LinkButton>
          </span>
        </Strip>
      )}
      {parts.value === undefined || original.value === undefined ? (
        <Panel title="Value">
          <Notice title={`The value is too large to be edited here: ${bytes(page.original.value.size)}`}>
            It is sent byte for byte as it was. Key and headers can be edited.
          </Notice>
        </Panel>
      ) : (
        <ValuePanel
          key={taken}
          original={original.value}
          value={parts.value}
          locked={!may.allowed}
          onChange={(value) => change({ ...parts, value })}
        />
      )}
      {may.allowed && <Suggestions id={letter.id} value={parts.value} onTake={take} />}
      <div className={styles.gap}>
        <Rehearsal
          asked={{ dead_letters: [letter.id], draft: true }}
          before={async () => void (state.pending && (await state.flush()))}
          version={String(edits)}
          barred={may.allowed ? undefined : may.reason}
        />
      </div>
      <HeaderRows parts={parts} stripped={page.stripped} locked={!may.allowed} onChange={change} />
      <FixPlan letter={letter} state={state} identical={sameParts(original, parts)} />
    </>
  );
}

function Saved({ state, locked }: { state: DraftState; locked: string | undefined }) {
  const now = useNow(1_000);
  const { zone } = useZone();
  const { draft, pending, error, conflict } = state;
  if (locked) return <>Read only. {locked}.</>;
  if (error && !conflict)
    return (
      <span className="failed b" role="status">
        Not saved: {error.message}{" "}
        <LinkButton onClick={() => void state.flush().catch(() => undefined)}>Try again</LinkButton>
      </span>
    );
  if (conflict) return <span className="failed b">Not saved.</span>;
  if (pending) return <span role="status">{draft ? `Draft ${fixName(draft.id)}, saving…` : "Saving…"}</span>;
  if (!draft) return <>No draft yet: the bytes are as they were.</>;
  return (
    <span title={timeOfDay(draft.updated_at, zone)}>
      Draft {fixName(draft.id)}, saved {ago(draft.updated_at, now)}
      {draft.identical && ", identical to the original"}.
    </span>
  );
}

function Discard({ id, name }: { id: string; name: string }) {
  const drop = useDropFix(id);
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Button onClick={() => setAsking(true)}>Discard draft…</Button>
      <ConfirmDialog
        open={asking}
        title={`Discard draft ${name}`}
        confirmLabel="Discard"
        danger
        busy={drop.isPending}
        error={drop.error?.message ?? null}
        onClose={() => setAsking(false)}
        onConfirm={() => drop.mutate(undefined, { onSuccess: () => setAsking(false) })}
      >
        The original record is shown again. Records already sent are not affected.
      </ConfirmDialog>
    </>
  );
}
