import { useState } from "react";
import { Link, useNavigate, useParams, useSearchParams } from "react-router";
import { bytesUrl, useDeadLetter } from "../../api/deadLetters";
import { useDecoded } from "../../api/decoded";
import { useReplaysOf } from "../../api/fixes";
import { useMayEdit, useMayNotRead } from "../../api/session";
import type { DeadLetter } from "../../api/types";
import { pageOfName } from "../../lib/connectors";
import { isDecodable } from "../../lib/decodable";
import { apiQuery, readFilter, writeFilter } from "../../lib/filter";
import { ago, bytes, count, dateTime } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { replayName } from "../../lib/naming";
import { topicAddress } from "../../lib/topicRead";
import { workWords } from "../../lib/work";
import { useNow, useZone } from "../../lib/zone";
import { LoadError } from "../../ui/LoadError";
import { ClusterBanner } from "../clusters/ClusterMark";
import { Button } from "../../ui/controls";
import { MenuButton } from "../../ui/MenuButton";
import { copyText } from "../../ui/CopyField";
import { SkeletonRows, Chip, PageHead, Panel, Strip } from "../../ui/Panel";
import { KeyText } from "../../ui/WithheldNotice";
import { useTitle } from "../../ui/useTitle";
import { disposalLabel } from "../disposals/decisions";
import { DisposalMenu } from "../disposals/DisposalMenu";
import { DisposalStrip } from "../disposals/DisposalStrip";
import { ReplayButton } from "../plan/ReplayButton";
import { RetentionPanel } from "../retention/RetentionPanel";
import { AttemptsPanel } from "./AttemptsPanel";
import { ErrorPanel } from "./ErrorPanel";
import { GroupCard } from "./GroupCard";
import { LetterFacts } from "./LetterFacts";
import { NeighbourPanel } from "./NeighbourPanel";
import { PayloadTabs } from "./PayloadTabs";
import { Pipeline } from "./Pipeline";
import { DialectPanel } from "./DialectPanel";
import styles from "./Record.module.css";
import { SchemaPanel } from "./SchemaPanel";
import { SourcePanel } from "./SourcePanel";
import { TimelinePanel } from "./TimelinePanel";

/** The page of one dead letter: pipeline, payload, error and neighbours. */
export function Record() {
  const { id = "" } = useParams();
  const [params] = useSearchParams();
  const navigate = useNavigate();
  const filter = readFilter(params);
  const address = writeFilter(filter).toString();
  const { data: letter, error, isPlaceholderData } = useDeadLetter(id, apiQuery(filter));
  const open = (other: number | null | undefined) =>
    other && navigate(`/records/${other}?${address}`, { replace: true });
  useKeys({
    j: () => open(letter?.neighbours.next),
    k: () => open(letter?.neighbours.previous),
    e: () => letter && navigate(`/records/${letter.id}/fix`),
    Escape: () => navigate(`/records?${address}${address ? "&" : ""}at=${id}`),
  });
  useTitle(letter ? `${letter.topic} / ${letter.partition} / ${letter.offset}` : "Record");
  if (!letter) {
    return (
      <>
        <PageHead title="Record" />
        <Panel>
          {error ? (
            <LoadError title="This record could not be loaded" error={error}>
              <Button to={`/records?${address}`}>Back to the records</Button>
            </LoadError>
          ) : (
            <SkeletonRows rows={10} />
          )}
        </Panel>
      </>
    );
  }
  return (
    <div style={isPlaceholderData ? { opacity: 0.6 } : undefined}>
      <ClusterBanner name={letter.cluster} />
      <RecordHeader letter={letter} onOpen={open} />
      <RecordDisposal letter={letter} />
      {!letter.readable && (
        <Strip tone="warn">The format of this dead letter is unknown. Its original bytes are shown below.</Strip>
      )}
      {!letter.has_record && (
        <Strip tone="plain">
          This error concerns no record: {letter.stage} failed without one. There is nothing to replay.
        </Strip>
      )}
      {letter.erased && <ErasedStrip erased={letter.erased} />}
      {letter.truncated && <Strip tone="warn">{letter.truncated}</Strip>}
      <Panel label="Pipeline">
        <Pipeline letter={letter} />
      </Panel>
      <RecordPanels letter={letter} address={address} />
    </div>
  );
}

/** Says when and by which erasure the content was erased. */
function ErasedStrip({ erased }: { erased: NonNullable<DeadLetter["erased"]> }) {
  const { zone } = useZone();
  return (
    <Strip tone="plain">
      {erased.erasure
        ? `The content was erased on ${dateTime(erased.at, zone)} (${erased.erasure}).`
        : "The record has an erased key, so it was indexed without its content."}{" "}
      Its coordinates and times stay, so that all numbers add up. It cannot be replayed.
    </Strip>
  );
}

/** The panels below the pipeline. Those below the decoded value and its schema appear with them, so that none moves. */
function RecordPanels({ letter, address }: { letter: DeadLetter; address: string }) {
  const { isLoading } = useDecoded(letter.id, "value", isDecodable(letter, "value"));
  return (
    <div className={styles.body}>
      <div style={{ minWidth: 0 }}>
        <ErrorPanel letter={letter} />
        {isLoading ? (
          <Panel className={styles.gap}>
            <SkeletonRows rows={8} />
          </Panel>
        ) : (
          <>
            <PayloadTabs key={letter.id} letter={letter} />
            <SourcePanel letter={letter} />
            <AttemptsPanel letter={letter} />
            <DialectPanel letter={letter} />
          </>
        )}
      </div>
      {isLoading ? (
        <Panel>
          <SkeletonRows rows={8} />
        </Panel>
      ) : (
        <div className={styles.side}>
          <SchemaPanel letter={letter} />
          <RetentionPanel letter={letter} />
          <TimelinePanel letter={letter} />
          <NeighbourPanel letter={letter} address={address} />
          <GroupCard letter={letter} />
        </div>
      )}
    </div>
  );
}

/** The disposal of the record, if there is one. */
function RecordDisposal({ letter }: { letter: DeadLetter }) {
  const disposal = useReplaysOf(letter.id).data?.disposal;
  return disposal ? <DisposalStrip key={letter.id} record={letter.id} disposal={disposal} /> : null;
}

function RecordHeader({ letter, onOpen }: { letter: DeadLetter; onOpen: (id: number | null) => void }) {
  const now = useNow(10_000);
  const { previous, next } = letter.neighbours;
  const barred = useMayNotRead();
  const name = `${letter.topic} / ${letter.partition} / ${letter.offset}`;
  const sizes = { value: letter.value.size, key: letter.key.size, context: letter.context.size };
  return (
    <PageHead
      title={
        <div className="row" style={{ flexWrap: "wrap", gap: "2px 8px" }}>
          <h1 style={{ overflowWrap: "anywhere" }}>{name}</h1>
          <CopyNameButton text={name.replaceAll(" ", "")} />
          <WorkChip letter={letter} />
          <Chip tone={letter.work_state === "open" ? "failed" : "plain"}>
            ✕ {letter.readable && letter.stage ? `failed at ${letter.stage}` : "unreadable"}
          </Chip>
        </div>
      }
      note={
        <>
          {letter.has_record ? (
            <>
              Key{" "}
              <span className="mono t2">
                <KeyText of={letter} />
              </span>
            </>
          ) : (
            "No record"
          )}
          {letter.origin_topic && (
            <>
              , from{" "}
              <Link
                className="mono"
                to={topicAddress(letter.origin_topic, letter.origin_partition, letter.origin_offset, letter.cluster)}
                title="The record in its topic, with its neighbours"
              >
                {letter.origin_topic} / {letter.origin_partition} / {count(letter.origin_offset)}
              </Link>
            </>
          )}
          , <FailedAt letter={letter} now={now} />
          {letter.connector && (
            <>
              , in{" "}
              <Link className="nw" to={pageOfName(letter.connector)}>
                {letter.task_id || letter.connector}
              </Link>
            </>
          )}
          <LetterFacts facts={letter.facts} />
        </>
      }
    >
      <span className={styles.nav}>
        <Button
          barred={previous ? undefined : "This is the first matching record"}
          onClick={() => onOpen(previous)}
          title="Previous record (k)"
        >
          <span className="row" style={{ gap: 6 }}>
            ‹ <kbd>k</kbd>
          </span>
        </Button>
        <Button
          barred={next ? undefined : "This is the last matching record"}
          onClick={() => onOpen(next)}
          title="Next record (j)"
        >
          <span className="row" style={{ gap: 6 }}>
            <kbd>j</kbd> ›
          </span>
        </Button>
      </span>
      <RecordActions letter={letter} />
      {barred ? (
        <Button barred={barred}>Download exact bytes ▾</Button>
      ) : (
        <MenuButton
          label="Download exact bytes ▾"
          items={(["value", "key", "context"] as const)
            .filter((part) => sizes[part] !== null)
            .map((part) => ({
              label: `${part === "context" ? "dead letter" : part}, ${bytes(sizes[part])}`,
              href: bytesUrl(letter.id, part),
            }))}
        />
      )}
    </PageHead>
  );
}

/** The time of the failure. A time that nobody stated says which clock it is from. */
function FailedAt({ letter, now }: { letter: DeadLetter; now: number }) {
  const { zone } = useZone();
  const at = `${dateTime(letter.failed_at, zone)}${zone === "utc" ? " UTC" : ""}, ${ago(letter.failed_at, now)}`;
  const clock = CLOCKS[letter.time_source ?? "writer"];
  return clock ? (
    <span title={clock.why}>
      {clock.label} {at}
    </span>
  ) : (
    <>failed {at}</>
  );
}

const CLOCKS: Record<NonNullable<DeadLetter["time_source"]>, { label: string; why: string } | null> = {
  writer: null,
  append: { label: "failed", why: "Append time of the dead letter" },
  create: { label: "failed", why: "Create time of the dead letter" },
  index: {
    label: "failed before",
    why: "Time of first indexing. The dead letter has the timestamp of the failed record, and does not say when it failed.",
  },
};

/** The work that is left on the record. A passed record says by which replay. */
function WorkChip({ letter: { id, work_state: state } }: { letter: DeadLetter }) {
  const replay = useReplaysOf(id).data?.results[0];
  const { label, glyph, tone } = workWords(state);
  const inReplay = replay && (state === "passed" || state === "replaying");
  return (
    <Chip tone={tone} title={`Work: ${label}`}>
      <span aria-hidden="true">{glyph}</span> <span data-testid="work">{label[0]!.toUpperCase() + label.slice(1)}</span>
      {inReplay && (
        <>
          {" "}
          in <Link to={`/replays/${replay.replay.id}`}>{replayName(replay.replay.id)}</Link>
        </>
      )}
    </Chip>
  );
}

/** The reasons for missing bytes. */
const MISSING_BYTES: Partial<Record<DeadLetter["original"], string>> = {
  expired: "expired",
  unknown: "unknown",
  forbidden: "not fetched: not allowed",
  erased: "its content was erased",
};

/** The actions on a record. They stay visible and disabled if its bytes are missing. */
function RecordActions({ letter }: { letter: DeadLetter }) {
  const may = useMayEdit();
  const missing = letter.has_record ? MISSING_BYTES[letter.original] : "the error concerns no record";
  const gone = missing && `Cannot be replayed: ${missing}`;
  const disposal = useReplaysOf(letter.id).data?.disposal;
  const aside = disposal ? `${disposalLabel(disposal.kind)}: restore it first` : undefined;
  // A source record needs no bytes from Kafka: the fix runs through its remaining stages.
  const barred = may.allowed ? (letter.source ? undefined : gone) : may.reason;
  return (
    <>
      <DisposalMenu
        key={`aside ${letter.id}`}
        what={{ ids: [letter.id] }}
        subject="this record"
        decisions={disposal ? ["restore"] : ["discard", "park", "handled_elsewhere"]}
      />
      <ReplayButton key={letter.id} what={{ ids: [letter.id] }} barred={gone ?? aside}>
        <span className="row" style={{ gap: 6 }}>
          Replay… <kbd>r</kbd>
        </span>
      </ReplayButton>
      {barred ? (
        <Button kind="primary" barred={barred}>
          Fix and replay…
        </Button>
      ) : (
        <Button kind="primary" to={`/records/${letter.id}/fix`} title="Fix and replay (e)">
          Fix and replay…
        </Button>
      )}
    </>
  );
}

function CopyNameButton({ text }: { text: string }) {
  const [said, setSaid] = useState("Copy");
  return (
    <Button
      kind="quiet"
      small
      onClick={() => void copyText(text).then((done) => setSaid(done ? "Copied" : "Select and copy it"))}
    >
      {said}
    </Button>
  );
}
