import { useDebouncedValue } from "@mantine/hooks";
import { Checkbox, TextInput } from "@mantine/core";
import { Suspense, lazy, useRef, useState } from "react";
import { Link, useNavigate, useSearchParams } from "react-router";
import {
  useBulkFix,
  useBulkPreview,
  useSelectionFields,
  useStartBulkFix,
  type BulkKind,
  type BulkPreview,
  type FixProgram,
} from "../../api/bulkFixes";
import { newIdempotencyKey, useSelection, useUnfinished } from "../../api/replays";
import type { Selection } from "../../api/replayTypes";
import { useMayEdit, useMayNotRead } from "../../api/session";
import { freshRow, programOf, rowsOf, type FormRow } from "../../lib/bulkForm";
import { pathText, rewritten, rewrittenRows, withField, type Path } from "../../lib/fieldPaths";
import { plural } from "../../lib/format";
import { replayName, selectionName } from "../../lib/naming";
import { Button, LinkButton } from "../../ui/controls";
import { TabRow } from "../../ui/TabRow";
import { SkeletonRows, Chip, Notice, PageHead, Panel, Strip } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import styles from "./BulkFix.module.css";
import { DiscardDrafts } from "./DiscardDrafts";
import { FieldBrowser } from "./FieldBrowser";
import { FileFix } from "./FileFix";
import { FormRows } from "./FormRows";
import { PreviewSummary } from "./PreviewSummary";
import type { Insertion } from "./ProgramEditor";
import { ProgramHistory } from "./ProgramHistory";
import programStyles from "./Programs.module.css";
import { ProgramTemplates } from "./ProgramTemplates";
import { Samples } from "./Samples";

const ProgramEditor = lazy(() => import("./ProgramEditor"));
const QUIET_MS = 500;
const TABS = [
  { value: "jq", label: "jq program" },
  { value: "patch", label: "JSON Patch" },
  { value: "fields", label: "Form" },
  { value: "file", label: "File" },
];
const HINTS = {
  jq: (
    <>
      The program gets one record’s value as <code>.</code> and gives the new one, such as{" "}
      <code>.properties.gap //= 0</code>. A value that <code>select</code> leaves out stays as it is.
    </>
  ),
  patch: (
    <>
      Operations of RFC 6902, such as <code>{'[{"op": "replace", "path": "/properties/gap", "value": 0}]'}</code>. A{" "}
      <code>test</code> that does not hold leaves the record untouched.
    </>
  ),
};

/** The screen for one change of all records of a selection. */
export function BulkFix() {
  const [params] = useSearchParams();
  const id = params.get("selection") ?? "";
  const selection = useSelection(id);
  const former = useFormerFix(selection.data?.continues ?? null);
  const may = useMayEdit();
  const unread = useMayNotRead();
  useTitle("Fix in bulk");
  if (id === "")
    return (
      <Panel>
        <Notice title="No records are selected" actions={<Button to="/records">Choose records</Button>}>
          Select records, or select all records that match a filter.
        </Notice>
      </Panel>
    );
  if (!selection.data)
    return (
      <Panel>
        {selection.error ? (
          <Notice title="The selection could not be loaded" actions={<Button to="/records">Choose records</Button>}>
            {selection.error.message}
          </Notice>
        ) : (
          <SkeletonRows rows={8} />
        )}
      </Panel>
    );
  if (former.isLoading)
    return (
      <Panel>
        <SkeletonRows rows={8} />
      </Panel>
    );
  const { id: pk, count: many, title, continues } = selection.data;
  return (
    <>
      <PageHead
        title={
          <div className="row">
            <h1>Fix {plural(many, "record")} in bulk</h1>
            <Chip tone="accent">Nothing is written to Kafka</Chip>
          </div>
        }
        note={`${selectionName(pk)}: ${title}. Changed records become your drafts. Other records stay byte for byte the same.`}
      >
        <DiscardDrafts of={{ selection: pk }} name={selectionName(pk)} />
      </PageHead>
      {continues !== null && (
        <Strip tone="accent">
          <span>
            These records continue <Link to={`/replays/${continues}`}>{replayName(continues)}</Link>.{" "}
            {former.program && "The program of its fix is filled in. "}A record that failed again has the bytes that
            were sent, with its former fix.
          </span>
        </Strip>
      )}
      <ChangePanel
        former={former.program}
        selection={selection.data}
        allowed={may.allowed}
        reads={!unread}
        reason={may.reason}
      />
    </>
  );
}

type Program = Pick<FixProgram, "kind" | "program">;

/** The program by which the records of a replay were fixed, for their next fix. */
function useFormerFix(replay: number | null): { isLoading: boolean; program: Program | null } {
  const unfinished = useUnfinished(replay === null ? "" : String(replay));
  const bulk = useBulkFix(String(unfinished.data?.bulk_fix ?? ""));
  const program = bulk.data && bulk.data.kind !== "offline" && bulk.data.program !== "" ? bulk.data : null;
  return { isLoading: unfinished.isLoading || bulk.isLoading, program };
}

function ChangePanel({
  former,
  selection,
  allowed,
  reads,
  reason,
}: {
  /** The program to begin with. */
  former: Program | null;
  selection: Selection;
  /** The person may make drafts, and may see content. */
  allowed: boolean;
  reads: boolean;
  reason: string;
}) {
  const [tab, setTab] = useState<BulkKind | "file">(former && former.kind !== "offline" ? former.kind : "jq");
  const [texts, setTexts] = useState({ jq: "", patch: "", ...(former && { [former.kind]: former.program }) });
  const [rows, setRows] = useState<FormRow[]>(former?.kind === "fields" ? rowsOf(former.program) : [freshRow(0)]);
  const [edition, setEdition] = useState(0); // of the editor's text, where it was not typed
  const [insertion, setInsertion] = useState<Insertion | null>(null);
  const kind = tab === "file" ? "jq" : tab;
  const program = tab === "file" ? "" : tab === "fields" ? programOf(rows) : texts[tab];
  const [settled] = useDebouncedValue(program, QUIET_MS);
  const body = { selection: selection.id, kind, program: settled === program ? program : "" };
  const preview = useBulkPreview(body, allowed);
  const blank = program.trim() === "";
  // A window that becomes too narrow to edit keeps the program, but nothing is previewed.
  const previewing = allowed && tab !== "file";
  const current = !blank && settled === program && !preview.isPlaceholderData ? preview : null;
  const shown = blank || current?.isError ? undefined : preview.data;
  const { data: fields } = useSelectionFields(selection.id, reads);
  const setText = (of: "jq" | "patch", text: string) => {
    setTexts((before) => ({ ...before, [of]: text }));
    setEdition((before) => before + 1);
  };
  const use = ({ kind: of, program: text }: Program) => {
    if (of === "offline") return;
    if (of === "fields") setRows(rowsOf(text));
    else setText(of, text);
    setTab(of);
  };
  const insert = (path: Path) => {
    if (tab === "fields") setRows((before) => withField(before, path, freshRow(nextId(before))));
    else if (tab !== "file") setInsertion({ text: pathText(path, tab) });
  };
  const replacePath = (from: Path, to: Path) => {
    if (tab === "fields") setRows((before) => rewrittenRows(before, from, to));
    else if (tab !== "file") setText(tab, rewritten(texts[tab], tab, from, to));
  };
  const suggested = tab === "jq" ? (fields?.suggestions ?? []) : [];
  return (
    <div className={styles.columns}>
      <FieldBrowser
        selection={selection}
        enabled={reads}
        after={shown?.nulls ?? []}
        onInsert={allowed && tab !== "file" ? insert : undefined}
      />
      <div className={styles.work}>
        {!allowed && (
          <Panel>
            <Notice title="Nothing can be fixed here">{reason}.</Notice>
          </Panel>
        )}
        <div hidden={!allowed}>
          <Panel label="Change">
            <TabRow inset value={tab} items={TABS} onChange={(next) => setTab(next as BulkKind | "file")} />
            <div className={styles.editing}>
              {(tab === "jq" || tab === "patch") && (
                <>
                  <p className="s t3">{HINTS[tab]}</p>
                  <Suspense fallback={<SkeletonRows rows={3} height={16} />}>
                    <ProgramEditor
                      key={`${tab} ${edition}`}
                      kind={tab}
                      text={texts[tab]}
                      insertion={insertion}
                      onChange={(text) => setTexts((before) => ({ ...before, [tab]: text }))}
                    />
                  </Suspense>
                </>
              )}
              {tab === "fields" && <FormRows rows={rows} onChange={setRows} />}
              {tab === "file" && <FileFix selection={selection.id} many={selection.count} />}
              {current?.error && (
                <p className="s failed b" role="alert">
                  ✕ {current.error.message.replace(/^program: /, "")}
                </p>
              )}
              {suggested.length > 0 && (
                <ul className={programStyles.suggested} aria-label="Suggested programs">
                  {suggested.map((one) => (
                    <li key={one.program}>
                      <LinkButton onClick={() => use({ kind: "jq", program: one.program })}>{one.title}</LinkButton>
                      <span className="t3">{one.why}</span>
                    </li>
                  ))}
                </ul>
              )}
              {tab !== "file" && <ProgramTemplates enabled={reads} kind={kind} program={program} onUse={use} />}
              <ProgramHistory selection={selection.id} enabled={reads} program={program} onUse={use} />
            </div>
            {shown && previewing && (
              <PreviewSummary preview={shown} many={selection.count} old={!current} onReplacePath={replacePath} />
            )}
          </Panel>
          {previewing && !current?.isError && <PreviewPanel preview={shown} blank={blank} old={!current} />}
          {tab !== "file" && (
            <MakeDrafts
              key={`${kind} ${program}`}
              body={{ selection: selection.id, kind, program }}
              continues={selection.continues !== null}
              ready={current?.isSuccess ? current.data : undefined}
              blank={blank}
              failed={current?.isError === true}
            />
          )}
        </div>
      </div>
    </div>
  );
}

function nextId(rows: readonly FormRow[]): number {
  return Math.max(-1, ...rows.map((row) => row.id)) + 1;
}

function PreviewPanel({ preview, blank, old }: { preview: BulkPreview | undefined; blank: boolean; old: boolean }) {
  return (
    <Panel
      className={styles.gap}
      label="Preview"
      title={
        <>
          <h2>Preview</h2>
          {preview && (
            <span className="s t3">{plural(preview.sample.length, "record")}, spread over the selection</span>
          )}
        </>
      }
    >
      {blank ? (
        <Notice title="Nothing is changed yet">
          A preview of your change on sample records appears here while you type.
        </Notice>
      ) : preview ? (
        <div aria-busy={old} className={old ? styles.old : undefined}>
          <Samples sample={preview.sample} />
        </div>
      ) : (
        <SkeletonRows rows={8} />
      )}
    </Panel>
  );
}

/** Starts the bulk fix, under a name if one is given. */
function MakeDrafts({
  body,
  continues,
  ready,
  blank,
  failed,
}: {
  body: { selection: number; kind: BulkKind; program: string };
  /** The records continue a replay, so the drafts of unsent ones are those of the former fix. */
  continues: boolean;
  ready: BulkPreview | undefined;
  blank: boolean;
  failed: boolean;
}) {
  const navigate = useNavigate();
  const start = useStartBulkFix();
  const [replace, setReplace] = useState(continues);
  const [name, setName] = useState("");
  const key = useRef(newIdempotencyKey());
  const none = ready?.counted_all && ready.counts.changed === 0 ? "No record would change" : undefined;
  const barred = blank
    ? "Enter a change first"
    : failed
      ? "The program can’t be used"
      : !ready
        ? "Wait for the preview"
        : none;
  const words = ready?.counted_all ? `Make ${plural(ready.counts.changed, "draft")}` : "Make drafts";
  const go = () =>
    start.mutate(
      { body: { ...body, replace, name: name.trim() }, key: key.current },
      { onSuccess: ({ id }) => void navigate(`/bulk-fixes/${id}`), onError: () => (key.current = newIdempotencyKey()) },
    );
  return (
    <div className={styles.apply}>
      <Checkbox
        size="xs"
        label="Replace my existing drafts"
        checked={replace}
        onChange={(event) => setReplace(event.currentTarget.checked)}
      />
      <TextInput
        size="xs"
        aria-label="Name of the bulk fix"
        placeholder="Name, such as Fill gap"
        maxLength={100}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <span className="sp" />
      {barred && <span className="s t3">{barred}</span>}
      {start.error && (
        <span className="s failed" role="alert">
          {start.error.message}
        </span>
      )}
      <Button kind="primary" barred={barred} busy={start.isPending} onClick={go}>
        {words}
      </Button>
    </div>
  );
}
