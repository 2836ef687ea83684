import { useEffect, useState } from "react";
import { Link, useParams } from "react-router";
import { useDeadLetter } from "../../api/deadLetters";
import { useDropFix, useFix } from "../../api/fixes";
import type { FixPage, Message } from "../../api/replayTypes";
import { useMayWrite } from "../../api/session";
import type { DeadLetter } from "../../api/types";
import { ago, bytes, dateTime, timeOfDay } from "../../lib/format";
import { fixName, replayName } from "../../lib/naming";
import { itemState } from "../../lib/states";
import { useNow, useZone } from "../../lib/zone";
import { Button, Confirm, LinkButton } from "../../ui/controls";
import { Bones, Chip, Notice, PageHead, Panel, Strip } from "../../ui/Panel";
import { FixPlan } from "./FixPlan";
import { HeaderRows } from "./HeaderRows";
import { partsOf, sameParts } from "./parts";
import { useDraft, type DraftState } from "./useDraft";
import { ValuePanel } from "./ValuePanel";

/** What will change in this record, and what happens when it is sent? */
export function Fix() {
  const { id = "" } = useParams();
  const fix = useFix(id);
  const letter = useDeadLetter(id, "");
  useEffect(() => {
    document.title = "Fix and replay · dlqadmin";
  }, []);
  const error = fix.error ?? letter.error;
  if (!fix.data || !letter.data) {
    return <Panel>{error ? <Notice title="This record did not come" actions={<Button to={`/records/${id}`}>Back to the record</Button>}>{error.message}</Notice> : <Bones rows={10} />}</Panel>;
  }
  const { original } = fix.data;
  if (!original) {
    return (
      <Panel>
        <Notice title={`Not replayable: ${fix.data.not_replayable ?? "unknown"}`} actions={<Button to={`/records/${id}`}>Back to the record</Button>}>
          {letter.data.source ? "A source connector read it, it did not come from Kafka: correct it where it was read." : fix.data.not_replayable === "expired" ? "The dead letter only points to its record, and Kafka no longer keeps it." : "The record’s own bytes are not known."}
        </Notice>
      </Panel>
    );
  }
  return <Form key={fix.dataUpdatedAt} id={id} page={{ ...fix.data, original }} letter={letter.data} />;
}

function Form({ id, page, letter }: { id: string; page: FixPage & { original: Message }; letter: DeadLetter }) {
  const may = useMayWrite();
  const { zone } = useZone();
  const fix = useFix(id);
  const state = useDraft(id, page);
  const [original] = useState(() => partsOf(page.original));
  const { parts, change, draft } = state;
  return (
    <>
      <PageHead
        title="Fix and replay 1 record"
        note={
          <>
            <Link className="mono" to={`/records/${id}`}>{letter.topic} / {letter.partition} / {letter.offset}</Link>, key <span className="mono t2">{letter.key_text ?? "null"}</span>,{" "}
            from <span className="mono t2">{letter.origin_topic ?? "an unknown topic"}</span>. <Saved state={state} locked={!may.allowed} />
          </>
        }
      >
        {draft && may.allowed && <Discard id={id} name={fixName(draft.id)} />}
        <Chip tone="accent">Dry run: nothing has been written</Chip>
      </PageHead>
      {page.others.map((one) => <Strip key={one.author} tone="warn">{one.author} has a draft of this record, changed {dateTime(one.updated_at, zone)}. Yours is kept beside it.</Strip>)}
      {page.earlier.map((one) => (
        <Strip key={`${one.replay} ${one.at}`} tone="waiting">
          <span>Was in <Link to={`/replays/${one.replay}`}>{replayName(one.replay)}</Link> at {dateTime(one.at, zone)}: {itemState(one.item_state).label.toLowerCase()}{one.reason && ` (${one.reason.replaceAll("_", " ")})`}.</span>
        </Strip>
      ))}
      {state.conflict && (
        <Strip tone="failed">
          <span>{state.error?.message} What you typed stays on this screen and is not saved. <LinkButton onClick={() => void fix.refetch()}>Load the saved draft</LinkButton></span>
        </Strip>
      )}
      {parts.value === undefined || original.value === undefined ? (
        <Panel title="Value"><Notice title={`The value is too large to be edited here: ${bytes(page.original.value.size)}`}>It is sent byte for byte as it was. Key and headers can be edited.</Notice></Panel>
      ) : (
        <ValuePanel original={original.value} value={parts.value} locked={!may.allowed} onChange={(value) => change({ ...parts, value })} />
      )}
      <HeaderRows parts={parts} stripped={page.stripped} locked={!may.allowed} onChange={change} />
      <FixPlan letter={letter} state={state} identical={sameParts(original, parts)} />
    </>
  );
}

function Saved({ state, locked }: { state: DraftState; locked: boolean }) {
  const now = useNow(1_000);
  const { zone } = useZone();
  const { draft, pending, error, conflict } = state;
  if (locked) return <>Read only: editing needs the role operator.</>;
  if (error && !conflict) return <span className="failed b" role="status">Not saved: {error.message} <LinkButton onClick={() => void state.flush().catch(() => undefined)}>Try again</LinkButton></span>;
  if (conflict) return <span className="failed b">Not saved.</span>;
  if (pending) return <span role="status">{draft ? `Draft ${fixName(draft.id)}, saving…` : "Saving…"}</span>;
  if (!draft) return <>No draft yet: the bytes are as they were.</>;
  return <span title={timeOfDay(draft.updated_at, zone)}>Draft {fixName(draft.id)}, saved {ago(draft.updated_at, now)}{draft.identical && ", identical to the original"}.</span>;
}

function Discard({ id, name }: { id: string; name: string }) {
  const drop = useDropFix(id);
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Button onClick={() => setAsking(true)}>Discard draft…</Button>
      <Confirm open={asking} title={`Discard draft ${name}`} yes="Discard" danger busy={drop.isPending} error={drop.error?.message ?? null} onClose={() => setAsking(false)} onYes={() => drop.mutate(undefined, { onSuccess: () => setAsking(false) })}>
        The record is shown as it was again. What was sent already stays as it was sent.
      </Confirm>
    </>
  );
}
