import { useDebouncedValue } from "@mantine/hooks";
import { Checkbox } from "@mantine/core";
import { Suspense, lazy, useRef, useState } from "react";
import { useNavigate, useSearchParams } from "react-router";
import { useBulkPreview, useStartBulkFix, type BulkKind, type BulkPreview } from "../../api/bulkFixes";
import { newIdempotencyKey, useSelection } from "../../api/replays";
import { useMayEdit } from "../../api/session";
import { freshRow, programOf, type FormRow } from "../../lib/bulkForm";
import { count, plural } from "../../lib/format";
import { selectionName } from "../../lib/naming";
import { Button, TabRow } from "../../ui/controls";
import { SkeletonRows, Chip, Notice, PageHead, Panel } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import styles from "./BulkFix.module.css";
import { FileFix } from "./FileFix";
import { FormRows } from "./FormRows";
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
      The program gets one record’s value as <code>.</code> and gives the new one, such as <code>.gap //= 0</code>. What{" "}
      <code>select</code> leaves out is untouched.
    </>
  ),
  patch: (
    <>
      Operations of RFC 6902, such as <code>{'[{"op": "replace", "path": "/gap", "value": 0}]'}</code>. A{" "}
      <code>test</code> that does not hold leaves the record untouched.
    </>
  ),
};

/** What would one change do to all of these records? */
export function BulkFix() {
  const [params] = useSearchParams();
  const id = params.get("selection") ?? "";
  const selection = useSelection(id);
  const may = useMayEdit();
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
  const { count: many, title } = selection.data;
  return (
    <>
      <PageHead
        title={`Fix ${plural(many, "record")} in bulk`}
        note={`${selectionName(selection.data.id)}: ${title}. Changed records become your drafts. Other records stay byte for byte the same.`}
      >
        <Chip tone="accent">Nothing is written to Kafka</Chip>
      </PageHead>
      {!may.allowed && (
        <Panel>
          <Notice title="Nothing can be fixed here">{may.reason}.</Notice>
        </Panel>
      )}
      <div hidden={!may.allowed}>
        <Editing selection={selection.data.id} many={many} />
      </div>
    </>
  );
}

function Editing({ selection, many }: { selection: number; many: number }) {
  const [tab, setTab] = useState<BulkKind | "file">("jq");
  const [texts, setTexts] = useState({ jq: "", patch: "" });
  const [rows, setRows] = useState<FormRow[]>([freshRow(0)]);
  const kind = tab === "file" ? "jq" : tab;
  const program = tab === "file" ? "" : tab === "fields" ? programOf(rows) : texts[tab];
  const [settled] = useDebouncedValue(program, QUIET_MS);
  const body = { selection, kind, program: settled === program ? program : "" };
  const preview = useBulkPreview(body);
  const blank = program.trim() === "";
  const current = !blank && settled === program && !preview.isPlaceholderData ? preview : null;
  return (
    <>
      <Panel label="Change">
        <TabRow inset value={tab} items={TABS} onChange={(next) => setTab(next as BulkKind | "file")} />
        <div className={styles.editing}>
          {(tab === "jq" || tab === "patch") && (
            <>
              <p className="s t3">{HINTS[tab]}</p>
              <Suspense fallback={<SkeletonRows rows={3} height={16} />}>
                <ProgramEditor
                  key={tab}
                  kind={tab}
                  text={texts[tab]}
                  onChange={(text) => setTexts((before) => ({ ...before, [tab]: text }))}
                />
              </Suspense>
            </>
          )}
          {tab === "fields" && <FormRows rows={rows} onChange={setRows} />}
          {tab === "file" && <FileFix selection={selection} many={many} />}
          {current?.error && (
            <p className="s failed b" role="alert">
              ✕ {current.error.message.replace(/^program: /, "")}
            </p>
          )}
        </div>
      </Panel>
      {tab !== "file" && (
        <Previewed
          preview={blank ? undefined : preview.data}
          blank={blank}
          old={current === null || preview.isError}
          failed={current?.isError === true}
          many={many}
        />
      )}
      {tab !== "file" && (
        <Apply
          key={`${kind} ${program}`}
          body={{ selection, kind, program }}
          ready={current?.isSuccess ? current.data : undefined}
          blank={blank}
          failed={current?.isError === true}
        />
      )}
    </>
  );
}

function Previewed({
  preview,
  blank,
  old,
  failed,
  many,
}: {
  preview: BulkPreview | undefined;
  blank: boolean;
  old: boolean;
  failed: boolean;
  many: number;
}) {
  if (failed) return null;
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
      aside={preview && <Counts preview={preview} many={many} />}
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

function Counts({ preview: { counts, counted_all: all }, many }: { preview: BulkPreview; many: number }) {
  return (
    <span className="s" role="status" data-testid="preview-counts">
      {all ? "" : `Of the first ${count(counts.matched)} of ${count(many)}: `}
      <b className="passed">{count(counts.changed)} changed</b>, {count(counts.untouched)} untouched,{" "}
      <span className={counts.invalid > 0 ? "failed b" : undefined}>{count(counts.invalid)} invalid</span>
    </span>
  );
}

function Apply({
  body,
  ready,
  blank,
  failed,
}: {
  body: { selection: number; kind: BulkKind; program: string };
  ready: BulkPreview | undefined;
  blank: boolean;
  failed: boolean;
}) {
  const navigate = useNavigate();
  const start = useStartBulkFix();
  const [replace, setReplace] = useState(false);
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
      { body: { ...body, replace }, key: key.current },
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
