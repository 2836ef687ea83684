import { TextInput } from "@mantine/core";
import { useState } from "react";
import { Link } from "react-router";
import { useSelectionFields, type FieldNulls, type SelectionField, type SelectionFields } from "../../api/bulkFixes";
import type { Selection } from "../../api/replayTypes";
import { nullQuery, type Path } from "../../lib/fieldPaths";
import { count, percent, plural } from "../../lib/format";
import { copyText } from "../../ui/CopyField";
import { LinkButton } from "../../ui/controls";
import { SkeletonRows, Notice, Panel, join } from "../../ui/Panel";
import styles from "./FieldBrowser.module.css";

const SHOWN = 40;
type Reason = SelectionField["reason"];

interface Actions {
  selection: Selection;
  /** Writes the path into the program; none where the program takes no paths. */
  onInsert: ((path: Path) => void) | undefined;
}

/** The fields of the selected records, those that the error names first. */
export function FieldBrowser({
  selection,
  enabled,
  after,
  onInsert,
}: Actions & { enabled: boolean; after: readonly FieldNulls[] }) {
  const { data, error, isFetching, refetch } = useSelectionFields(selection.id, enabled);
  return (
    <Panel
      className={styles.browser}
      label="Fields"
      title={
        <>
          <h2>Fields</h2>
          {data && <span className="s t3">{extent(data)}</span>}
        </>
      }
      aside={data && !isFetching ? <LinkButton onClick={() => void refetch()}>Read again</LinkButton> : undefined}
    >
      {error ? (
        <Notice
          title="The fields could not be read"
          actions={<LinkButton onClick={() => void refetch()}>Read again</LinkButton>}
        >
          {error.message}
        </Notice>
      ) : data ? (
        <FieldTable fields={data} selection={selection} after={after} onInsert={onInsert} />
      ) : enabled ? (
        <SkeletonRows rows={10} />
      ) : (
        <Notice title="The fields are withheld">Needs the right payload reader.</Notice>
      )}
    </Panel>
  );
}

function FieldTable({
  fields: data,
  selection,
  after,
  onInsert,
}: Actions & { fields: SelectionFields; after: readonly FieldNulls[] }) {
  const [sought, setSought] = useState("");
  const [opened, setOpened] = useState<string | null>(() => data.fields[0]?.path.pointer ?? null);
  const [all, setAll] = useState(false);
  const found = data.fields.filter((field) => matches(field, sought.trim().toLowerCase()));
  const shown = all || sought ? found : found.slice(0, SHOWN);
  const tables = [...new Set(data.named.map((one) => one.table).filter(Boolean))].join(", ");
  const titles: Record<Reason, string> = {
    named: "Named by the error",
    constraint: tables ? `NOT NULL in table ${tables}` : "NOT NULL",
    other: "Other fields",
  };
  const lost = data.named.filter((one) => one.paths.length === 0);
  return (
    <>
      <div className={styles.search}>
        <TextInput
          size="xs"
          aria-label="Find a field or a value"
          placeholder="Find a field or a value"
          value={sought}
          onChange={(event) => setSought(event.currentTarget.value)}
          spellCheck={false}
        />
      </div>
      {lost.map((one) => (
        <p key={one.name} className={join("s", styles.lost)} role="status">
          The error names <code>{one.name}</code>, but no record that was read has a field of this name.
        </p>
      ))}
      {data.unread > 0 && (
        <p className={join("s t3", styles.lost)}>
          {plural(data.unread, "record")} {data.unread === 1 ? "is" : "are"} not JSON, or without known bytes.
        </p>
      )}
      <div className={join("s t3", styles.row, styles.labels)} aria-hidden="true">
        <span>Path</span>
        <span>Null or missing</span>
        <span>Sample values</span>
      </div>
      {(["named", "constraint", "other"] as const).map((reason) => {
        const rows = shown.filter((field) => field.reason === reason);
        if (rows.length === 0) return null;
        return (
          <section key={reason} aria-label={titles[reason]}>
            <h3 className={styles.heading}>
              {titles[reason]} <span className="t3">{count(found.filter((one) => one.reason === reason).length)}</span>
            </h3>
            <ul className={styles.fields}>
              {rows.map((field) => (
                <FieldRow
                  key={field.path.pointer}
                  field={field}
                  read={data.read}
                  groups={data.groups}
                  after={after.find((one) => one.path.pointer === field.path.pointer)}
                  open={opened === field.path.pointer}
                  onToggle={() => setOpened(opened === field.path.pointer ? null : field.path.pointer)}
                  selection={selection}
                  onInsert={onInsert}
                />
              ))}
            </ul>
          </section>
        );
      })}
      {found.length === 0 && <Notice title={sought ? "No field matches" : "No record has fields"} />}
      {shown.length < found.length && (
        <div className={styles.more}>
          <LinkButton onClick={() => setAll(true)}>Show {count(found.length - shown.length)} more</LinkButton>
        </div>
      )}
      {data.cut && <p className={join("s t3", styles.lost)}>There are more fields. Only the first 1,000 are listed.</p>}
    </>
  );
}

function FieldRow({
  field,
  read,
  after,
  open,
  onToggle,
  selection,
  groups,
  onInsert,
}: Actions & {
  field: SelectionField;
  read: number;
  groups: readonly number[];
  after: FieldNulls | undefined;
  open: boolean;
  onToggle: () => void;
}) {
  const [said, setSaid] = useState("");
  const { path } = field;
  const empty = field.nulls + field.missing;
  const cut = path.name.lastIndexOf(".") + 1;
  const copy = async () => setSaid((await copyText(path.jq)) ? "Copied" : `Select it: ${path.jq}`);
  const records = field.nulls > 0 ? recordsWithNull(selection, groups, path) : null;
  return (
    <li className={open ? styles.open : undefined} data-testid="field" data-path={path.name}>
      <button type="button" className={styles.row} aria-expanded={open} onClick={onToggle}>
        <span className="mono cut" title={path.name}>
          <span className="t3">{path.name.slice(0, cut)}</span>
          {path.name.slice(cut)}
        </span>
        <span className={styles.nulls}>
          <span className={styles.bar} aria-hidden="true">
            <i style={{ width: `${read > 0 ? (empty / read) * 100 : 0}%` }} />
          </span>
          <span className="nw">
            {percent(empty, read, 0)}
            {after && (
              <>
                {" → "}
                <b className={after.null_after < after.null_before ? "passed" : undefined}>
                  {percent(after.null_after, after.records, 0)}
                </b>
              </>
            )}
          </span>
        </span>
        <span className="t3 cut">{sampled(field)}</span>
      </button>
      {open && (
        <div className={join("s t2", styles.details)}>
          <div>{described(field, read)}</div>
          {field.column !== null && field.column !== path.name && (
            <div>
              Column <code>{field.column}</code> is read from here.
            </div>
          )}
          <div className={styles.actions}>
            {onInsert && <LinkButton onClick={() => onInsert(path)}>Insert path</LinkButton>}
            <LinkButton onClick={() => void copy()}>Copy path</LinkButton>
            {records && <Link to={records}>Show the {plural(field.nulls, "record")} with null</Link>}
            <span role="status">{said}</span>
          </div>
        </div>
      )}
    </li>
  );
}

function extent({ records, read, unread, exact }: SelectionFields): string {
  if (exact && unread === 0) return `values of all ${plural(records, "record")}`;
  const of = `values of ${count(read)} of ${plural(records, "record")}`;
  return exact ? of : `${of}, stopped at the limit`;
}

function matches(field: SelectionField, text: string): boolean {
  const texts = [field.path.name, field.column ?? "", ...field.values.map((one) => one.text)];
  return text === "" || texts.some((one) => one.toLowerCase().includes(text));
}

function sampled({ values, minimum, maximum, distinct, nulls }: SelectionField): string {
  if (values.length === 0) return nulls > 0 ? "null" : "";
  if (minimum !== null && maximum !== null && distinct !== values.length) return `${minimum} to ${maximum}`;
  const texts = values.slice(0, 3).map((one) => (one.count > 1 ? `${one.text} (${count(one.count)})` : one.text));
  return `${texts.join(", ")}${distinct === texts.length ? "" : " …"}`;
}

function described(field: SelectionField, read: number): string {
  const parts = [
    field.nulls > 0 && `null in ${count(field.nulls)} of ${plural(read, "record")}`,
    field.missing > 0 && `missing in ${count(field.missing)}`,
    field.nulls + field.missing === 0 && "never null or missing",
    field.types.some((type) => type !== "null") && `type ${field.types.filter((type) => type !== "null").join(", ")}`,
    field.minimum !== null && `${field.minimum} to ${field.maximum}`,
    field.distinct !== null && field.distinct > 0 && plural(field.distinct, "different value"),
  ];
  const text = parts.filter(Boolean).join("; ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** The address of the records of the same groups and time in which the field is null. */
function recordsWithNull({ filters }: Selection, groups: readonly number[], path: Path): string | null {
  if (groups.length === 0) return null;
  const { from, to } = filters as { from?: string; to?: string };
  const params = new URLSearchParams({ q: `group:${groups.join(",")} ${nullQuery(path)}` });
  if (from) params.set("from", from);
  if (to) params.set("to", to);
  return `/records?${params.toString()}`;
}
