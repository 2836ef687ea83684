import { TextInput, Textarea } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useState } from "react";
import { useNavigate, useParams, useSearchParams } from "react-router";
import { useClusters } from "../../api/clusters";
import {
  useDialects,
  useMappingVersions,
  useReadYaml,
  useRetireMapping,
  useSaveMapping,
  useTryOut,
  yamlAddress,
  type DialectList,
  type MappingVersion,
} from "../../api/dialects";
import { useMayNotAdminister, useMayNotRead } from "../../api/session";
import { ago, plural } from "../../lib/format";
import { coversTopic, draftOf, suggestedName, withFact, sourceOf, type MappingDraft } from "../../lib/mapping";
import { useNow } from "../../lib/zone";
import { Button } from "../../ui/controls";
import controls from "../../ui/controls.module.css";
import { ConfirmDialog, Dialog } from "../../ui/Dialog";
import { LoadError } from "../../ui/LoadError";
import { Chip, Notice, PageHead, Panel, SkeletonRows, Strip } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import { WithheldNotice } from "../../ui/WithheldNotice";
import styles from "./MappingEditor.module.css";
import { MappingFacts } from "./MappingFacts";
import { MappingTryOut } from "./MappingTryOut";

const TYPING_MS = 400;

/** The page that makes a mapping, or a new version of the one of the address. */
export function MappingEditor() {
  const { name } = useParams();
  const [query] = useSearchParams();
  const list = useDialects();
  const versions = useMappingVersions(name);
  useTitle(name ?? "New mapping");
  const error = list.error ?? versions.error;
  if (list.data && (name === undefined || versions.data)) {
    const newest = versions.data?.versions[0];
    const topic = query.get("topic") ?? "";
    return <Editor key={`${name} ${newest?.version}`} list={list.data} newest={newest} topic={topic} />;
  }
  return (
    <>
      <PageHead title={name ?? "New mapping"} />
      <Panel>
        {error ? (
          <LoadError
            title="The mapping could not be loaded"
            error={error}
            onAgain={() => void Promise.all([list.refetch(), versions.refetch()])}
          />
        ) : (
          <SkeletonRows rows={10} />
        )}
      </Panel>
    </>
  );
}

interface EditorProps {
  list: DialectList;
  newest: MappingVersion | undefined;
  topic: string;
}

function Editor({ list, newest, topic: wanted }: EditorProps) {
  const followed = useClusters().data?.index.topics.map((one) => one.topic) ?? [];
  const [draft, setDraft] = useState<MappingDraft>(() =>
    newest
      ? draftOf(newest.mapping)
      : {
          name: suggestedName(
            wanted,
            list.mappings.map((one) => one.name),
          ),
          topics: wanted ? [wanted] : [],
          facts: [],
        },
  );
  const [topics, setTopics] = useState(draft.topics.join(", "));
  const covered = followed.filter((one) => coversTopic(draft.topics, one));
  const [chosen, setChosen] = useState(wanted);
  const topic = chosen || covered[0] || draft.topics.find((one) => !one.includes("*")) || "";
  const [letter, setLetter] = useState(0);
  const [settled] = useDebouncedValue(draft, TYPING_MS);
  const [read] = useDebouncedValue(topic, TYPING_MS);
  const unreadable = useMayNotRead();
  const tried = useTryOut(read, settled, letter, unreadable !== undefined);
  const isSaved = newest !== undefined && JSON.stringify(draftOf(newest.mapping)) === JSON.stringify(draft);
  const trial = tried.data;
  return (
    <>
      <EditorHead
        newest={newest}
        draft={draft}
        isSaved={isSaved}
        onDraft={(read) => {
          setDraft(read);
          setTopics(read.topics.join(", "));
        }}
      />
      <div className={styles.editor}>
        <Panel title="Name and topics">
          <div className={styles.names}>
            <TextInput
              label="Name"
              value={draft.name}
              readOnly={newest !== undefined}
              onChange={(event) => setDraft({ ...draft, name: event.currentTarget.value })}
              classNames={{ label: controls.label!, input: `${controls.input} mono` }}
            />
            <TextInput
              label="Topics, or patterns with *"
              value={topics}
              onChange={(event) => {
                setTopics(event.currentTarget.value);
                setDraft({ ...draft, topics: listed(event.currentTarget.value) });
              }}
              classNames={{ label: controls.label!, input: `${controls.input} mono` }}
            />
            <TextInput
              label="Try on topic"
              value={chosen}
              placeholder={topic}
              list="mapping-topics"
              onChange={(event) => {
                setChosen(event.currentTarget.value.trim());
                setLetter(0);
              }}
              classNames={{ label: controls.label!, input: `${controls.input} mono` }}
            />
            <datalist id="mapping-topics">
              {followed.map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
          </div>
        </Panel>
        {trial && trial.problems.length > 0 && (
          <Strip tone="warn">
            {trial.problems.map((problem) => (
              <div key={problem}>{problem}</div>
            ))}
          </Strip>
        )}
        <MappingFacts
          kinds={list.facts}
          draft={draft}
          tried={trial}
          onFact={(fact, changed) => setDraft(withFact(draft, list.facts, fact, changed))}
          onUse={({ fact, source }) =>
            setDraft(withFact(draft, list.facts, fact, { required: false, sources: [sourceOf(source)] }))
          }
        />
        {unreadable ? (
          <Panel title="Try-out">
            <WithheldNotice />
          </Panel>
        ) : topic === "" ? (
          <Notice title="Enter a topic to try the mapping on">
            Its newest 100 letters are read; nothing is saved.
          </Notice>
        ) : (
          <MappingTryOut
            topic={read}
            tried={trial}
            error={tried.error}
            isWaiting={tried.isFetching || settled !== draft || read !== topic}
            onLetter={setLetter}
          />
        )}
        <SaveBar
          draft={draft}
          newest={newest}
          covered={covered}
          isSaved={isSaved}
          problems={trial?.problems.length ?? 0}
        />
      </div>
    </>
  );
}

function EditorHead({
  newest,
  draft,
  isSaved,
  onDraft,
}: {
  newest: MappingVersion | undefined;
  draft: MappingDraft;
  isSaved: boolean;
  onDraft: (draft: MappingDraft) => void;
}) {
  const now = useNow(60_000);
  const barred = useMayNotAdminister();
  const retire = useRetireMapping();
  const navigate = useNavigate();
  const [asking, setAsking] = useState<"yaml" | "retire" | null>(null);
  return (
    <>
      <PageHead
        title={newest ? <h1 className="mono">{newest.mapping.name}</h1> : "New mapping"}
        note={
          newest ? (
            <>
              <Chip>version {newest.version}</Chip>{" "}
              {newest.is_active ? null : <Chip tone="warn">retired: it reads nothing</Chip>} saved by {newest.by}{" "}
              {ago(newest.at, now)}: {newest.reason}
              {!isSaved && <b> · changed, not saved</b>}
            </>
          ) : (
            "Choose for each fact where a dead letter has it."
          )
        }
      >
        <Button barred={barred} onClick={() => setAsking("yaml")}>
          Import YAML…
        </Button>
        {newest && (
          <a className={styles.export} href={yamlAddress(newest.mapping.name)} download>
            Export YAML
          </a>
        )}
        {newest?.is_active && (
          <Button barred={barred} onClick={() => setAsking("retire")}>
            Retire…
          </Button>
        )}
      </PageHead>
      <YamlDialog
        open={asking === "yaml"}
        onClose={() => setAsking(null)}
        onRead={(read) => {
          onDraft(newest ? { ...read, name: draft.name } : read);
          setAsking(null);
        }}
      />
      <ConfirmDialog
        open={asking === "retire"}
        title={`Retire ${newest?.mapping.name ?? ""}`}
        confirmLabel="Retire mapping"
        inputLabel="Reason, for the audit trail"
        required
        busy={retire.isPending}
        error={retire.error?.message ?? null}
        onClose={() => {
          setAsking(null);
          retire.reset();
        }}
        onConfirm={(reason) =>
          newest &&
          retire.mutate({ name: newest.mapping.name, reason }, { onSuccess: () => void navigate("/settings/dialects") })
        }
      >
        The built-in dialects read new letters of its topics. Letters that are indexed already keep their facts. Saving
        the mapping again uses it again.
      </ConfirmDialog>
    </>
  );
}

function YamlDialog({
  open,
  onClose,
  onRead,
}: {
  open: boolean;
  onClose: () => void;
  onRead: (draft: MappingDraft) => void;
}) {
  const [text, setText] = useState("");
  const read = useReadYaml();
  const problems = read.data?.mapping ? [] : (read.data?.problems ?? []);
  return (
    <Dialog open={open} title="Import a mapping" onClose={onClose} onClosed={() => read.reset()}>
      <form
        className={controls.dialogBody}
        onSubmit={(event) => {
          event.preventDefault();
          read.mutate(text, { onSuccess: ({ mapping }) => mapping && onRead(draftOf(mapping)) });
        }}
      >
        <Textarea
          label="YAML, as Export YAML writes it"
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          rows={14}
          data-autofocus
          classNames={{ label: controls.label!, input: `${controls.input} mono` }}
          styles={{ input: { height: 280 } }}
        />
        {(problems.length > 0 || read.error) && (
          <div className="failed s" role="alert">
            {read.error?.message ?? problems.join(" ")}
          </div>
        )}
        <div className="row" style={{ justifyContent: "flex-end" }}>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            type="submit"
            busy={read.isPending}
            barred={text.trim() ? undefined : "Paste YAML first"}
          >
            Read
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function SaveBar({
  draft,
  newest,
  covered,
  isSaved,
  problems,
}: {
  draft: MappingDraft;
  newest: MappingVersion | undefined;
  covered: readonly string[];
  isSaved: boolean;
  problems: number;
}) {
  const navigate = useNavigate();
  const notAdministrator = useMayNotAdminister();
  const save = useSaveMapping();
  const [rereads, setRereads] = useState(true);
  const [asking, setAsking] = useState(false);
  const version = (newest?.version ?? 0) + 1;
  const unchanged = isSaved && newest?.is_active ? "Nothing has changed" : undefined;
  const barred = notAdministrator ?? (problems > 0 ? "The mapping has mistakes" : unchanged);
  const reread = rereads ? covered : [];
  return (
    <Panel label="Save">
      <div className={styles.save}>
        <label className="row">
          <input type="checkbox" checked={rereads} onChange={(event) => setRereads(event.currentTarget.checked)} />
          <span>
            <b>
              Read{" "}
              {covered.length === 0
                ? "its topics"
                : covered.length === 1
                  ? covered[0]
                  : plural(covered.length, "topic")}{" "}
              again
            </b>
            <span className="t2">
              {" "}
              in the background. Records with a replay, an outcome or a draft stay as they are.
            </span>
          </span>
        </label>
        <span className="sp" />
        <Button to="/settings/dialects">{isSaved ? "Back" : "Discard changes"}</Button>
        <Button kind="primary" barred={barred} onClick={() => setAsking(true)}>
          Save as version {version}…
        </Button>
      </div>
      <ConfirmDialog
        open={asking}
        title={`Save ${draft.name} as version ${version}`}
        confirmLabel="Save mapping"
        inputLabel="Reason, for the audit trail"
        required
        busy={save.isPending}
        error={save.error?.message ?? null}
        onClose={() => {
          setAsking(false);
          save.reset();
        }}
        onConfirm={(reason) =>
          save.mutate(
            { mapping: draft, opened: newest?.version ?? null, reread, reason },
            { onSuccess: () => void navigate("/settings/dialects") },
          )
        }
      >
        The indexer reads new letters of {draft.topics.join(", ")} with it within seconds.{" "}
        {reread.length > 0
          ? `It reads ${plural(reread.length, "topic")} again from the start.`
          : "Letters that are indexed already keep their facts."}
      </ConfirmDialog>
    </Panel>
  );
}

function listed(text: string): string[] {
  return text.split(/[,\s]+/).filter(Boolean);
}
