import { Suspense, useState } from "react";
import { Link, useParams } from "react-router";
import { useDecodedFix, type RecordPart } from "../../api/decoded";
import { useDeadLetter } from "../../api/deadLetters";
import { useDropFix, useFix } from "../../api/fixes";
import type { FixPage, Message } from "../../api/replayTypes";
import { useSuggestions } from "../../api/bulkFixes";
import { useMayNotRead, useMayWrite } from "../../api/session";
import type { DeadLetter } from "../../api/types";
import { isDecodable, mayNameSchema } from "../../lib/decodable";
import { ago, bytes, dateTime, timeOfDay } from "../../lib/format";
import type { Part } from "../../lib/editing";
import { maskedNames } from "../../lib/masked";
import { fixName, replayName } from "../../lib/naming";
import { itemState } from "../../lib/states";
import { useNow, useZone } from "../../lib/zone";
import { Button, LinkButton } from "../../ui/controls";
import { ConfirmDialog } from "../../ui/Dialog";
import { SkeletonRows, Chip, Notice, PageHead, Panel, Strip } from "../../ui/Panel";
import { KeyText, WithheldNotice } from "../../ui/WithheldNotice";
import { useTitle } from "../../ui/useTitle";
import styles from "./Fix.module.css";
import { ReplayButton } from "../plan/ReplayButton";
import { FixPlan } from "./FixPlan";
import { KeyAndHeadersPanel } from "./KeyAndHeadersPanel";
import { partsOf, sameParts, type MessageParts } from "./messageParts";
import { Rehearsal } from "./Rehearsal";
import { SchemaPartPanel } from "./SchemaPartPanel";
import { SourceRecordEditor } from "./SourceRecordEditor";
import { Suggestions } from "./Suggestions";
import { useDraft, type DraftState } from "./useDraft";
import { ValuePanel } from "./ValuePanel";

/** The screen that edits, rehearses and replays one record. */
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
  if (!original && letter.data.source) return <SourceRecordFix letter={letter.data} />;
  if (!original) {
    return (
      <Panel>
        <Notice
          title={`Cannot be replayed: ${fix.data.not_replayable === "forbidden" ? "not fetched: not allowed" : (fix.data.not_replayable ?? "unknown")}`}
          actions={<Button to={`/records/${id}`}>Back to the record</Button>}
        >
          {fix.data.not_replayable === "forbidden"
            ? letter.data.not_allowed
            : fix.data.not_replayable === "erased"
              ? "An administrator erased the content of this record."
              : fix.data.not_replayable === "expired"
                ? "The dead letter only points to its record, and Kafka no longer keeps it."
                : "The bytes of the record are unknown."}
        </Notice>
      </Panel>
    );
  }
  return <FixForm key={fix.dataUpdatedAt} id={id} page={{ ...fix.data, original }} letter={letter.data} />;
}

/** The screen for a record of a source connector. Kafka never had it, so no original can be sent again. */
function SourceRecordFix({ letter }: { letter: DeadLetter }) {
  const [isRehearsed, setRehearsed] = useState(false);
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
      <SourceRecordEditor letter={letter} onRehearsed={setRehearsed} />
      <div className={styles.gap}>
        <ReplayButton
          what={{ ids: [letter.id] }}
          primary
          barred={isRehearsed ? undefined : "Rehearse the record until it passes all stages"}
        >
          Plan the replay…
        </ReplayButton>
      </div>
    </>
  );
}

function FixForm({ id, page, letter }: { id: string; page: FixPage & { original: Message }; letter: DeadLetter }) {
  const may = useMayWrite();
  const { zone } = useZone();
  const fix = useFix(id);
  const state = useDraft(id, page);
  const [original] = useState(() => partsOf(page.original));
  const { parts, draft } = state;
  const isSuggesting = useSuggestions(letter.id).isLoading;
  const [edits, setEdits] = useState(0);
  const [suggestionsTaken, setSuggestionsTaken] = useState(0);
  const [asBytes, setAsBytes] = useState<readonly RecordPart[]>([]);
  const [unencoded, setUnencoded] = useState<readonly RecordPart[]>([]);
  const saved = page.draft?.updated_at ?? null;
  const decodedValue = useDecodedFix(id, "value", saved, isDecodable(letter, "value"));
  const decodedKey = useDecodedFix(id, "key", saved, mayNameSchema(page.original.key, page.original.headers));
  const change = (next: MessageParts) => {
    setEdits(edits + 1);
    state.change(next);
  };
  const takeSuggestion = (value: Part) => {
    change({ ...parts, value });
    setSuggestionsTaken(suggestionsTaken + 1); // the panel starts anew, because its mode may not suit the new value
  };
  /** The editor of a part that names a schema; null for another part, if its bytes are edited, or if the draft's don't fit. */
  const schemaPanel = (part: RecordPart) => {
    const fixOfPart = (part === "key" ? decodedKey : decodedValue).data;
    if (!fixOfPart?.original?.editable || asBytes.includes(part)) return null;
    if (page.draft && (fixOfPart.draft?.json == null || !fixOfPart.draft.schema)) return null;
    return (
      <SchemaPartPanel
        id={id}
        part={part}
        original={fixOfPart.original}
        draft={fixOfPart.draft}
        locked={!may.allowed}
        onChange={(changed) => change({ ...parts, [part]: changed })}
        onUnencoded={(isUnencoded) =>
          setUnencoded((before) => [...before.filter((one) => one !== part), ...(isUnencoded ? [part] : [])])
        }
        onBytes={() => setAsBytes([...asBytes, part])}
      />
    );
  };
  const keyPanel = schemaPanel("key");
  const valuePanel = schemaPanel("value");
  const notEncoded = unencoded.length > 0 ? `The edited ${unencoded.join(" and ")} is not encoded` : undefined;
  const isLoading = decodedValue.isLoading || decodedKey.isLoading;
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
            <DraftStatus state={state} locked={may.allowed ? undefined : may.reason} />
          </>
        }
      >
        {draft && may.allowed && <DiscardDraftButton id={id} name={fixName(draft.id)} />}
        <Chip tone="accent">Dry run: nothing has been written</Chip>
      </PageHead>
      {page.others.map((other) => (
        <Strip key={other.author} tone="warn">
          {other.author} has a draft of this record, changed {dateTime(other.updated_at, zone)}. Your draft is separate.
        </Strip>
      ))}
      <MaskedStrip original={page.original} />
      {page.earlier.map((item) => (
        <Strip key={`${item.replay} ${item.at}`} tone="waiting">
          <span>
            Part of <Link to={`/replays/${item.replay}`}>{replayName(item.replay)}</Link> at {dateTime(item.at, zone)}:{" "}
            {itemState(item.item_state).label.toLowerCase()}
            {item.reason && ` (${item.reason.replaceAll("_", " ")})`}.
          </span>
        </Strip>
      ))}
      {state.conflict && (
        <Strip tone="failed">
          <span>
            {state.error?.message} Your edits stay on this screen but are not saved.{" "}
            <LinkButton onClick={() => void fix.refetch()}>Load the saved draft</LinkButton>
          </span>
        </Strip>
      )}
      <Suspense fallback={<LoadingPanel />}>
        {isLoading ? (
          <LoadingPanel />
        ) : (
          <>
            {parts.value === undefined || original.value === undefined ? (
              <Panel title="Value">
                {page.original.value.masked ? (
                  <Notice title="The value is masked for your roles">It is sent unchanged.</Notice>
                ) : (
                  <Notice title={`The value is too large to edit here: ${bytes(page.original.value.size)}`}>
                    It is sent unchanged. You can edit the key and the headers.
                  </Notice>
                )}
              </Panel>
            ) : (
              (valuePanel ?? (
                <ValuePanel
                  key={suggestionsTaken}
                  original={original.value}
                  value={parts.value}
                  locked={!may.allowed}
                  onChange={(value) => change({ ...parts, value })}
                />
              ))
            )}
            {may.allowed && !valuePanel && <Suggestions id={letter.id} value={parts.value} onTake={takeSuggestion} />}
            {isSuggesting ? (
              // The panels below appear after the suggestions, so that nothing moves under the pointer.
              <Panel className={styles.gap}>
                <SkeletonRows rows={6} />
              </Panel>
            ) : (
              <>
                <div className={styles.gap}>
                  <Rehearsal
                    asked={{ dead_letters: [letter.id], draft: true }}
                    before={async () => void (state.pending && (await state.flush()))}
                    version={String(edits)}
                    barred={may.allowed ? notEncoded : may.reason}
                  />
                </div>
                {keyPanel && <div className={styles.gap}>{keyPanel}</div>}
                <KeyAndHeadersPanel
                  parts={parts}
                  hasKey={!keyPanel}
                  stripped={page.stripped}
                  locked={!may.allowed}
                  onChange={change}
                />
                <FixPlan letter={letter} state={state} identical={sameParts(original, parts)} notEncoded={notEncoded} />
              </>
            )}
          </>
        )}
      </Suspense>
    </>
  );
}

/** Names what masking rules hide of the record: the server refuses edits of it. */
export function MaskedStrip({ original }: { original: Message }) {
  const names = maskedNames(original);
  if (names.length === 0) return null;
  return (
    <Strip tone="warn">
      Masked for your roles: {names.join(", ")}. They stay as they are, and the record is sent with their real content.
      You cannot change or add headers.
    </Strip>
  );
}

function LoadingPanel() {
  return (
    <Panel>
      <SkeletonRows rows={10} />
    </Panel>
  );
}

function DraftStatus({ state, locked }: { state: DraftState; locked: string | undefined }) {
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
  if (!draft) return <>No draft yet. The record is unchanged.</>;
  return (
    <span title={timeOfDay(draft.updated_at, zone)}>
      Draft {fixName(draft.id)}, saved {ago(draft.updated_at, now)}
      {draft.identical && ", identical to the original"}.
    </span>
  );
}

function DiscardDraftButton({ id, name }: { id: string; name: string }) {
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
