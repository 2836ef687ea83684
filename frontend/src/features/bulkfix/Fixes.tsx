import { useState } from "react";
import { Link } from "react-router";
import { UNFINISHED, useBulkFixes, useDiscardDrafts, useOwnDrafts, type BulkFix } from "../../api/bulkFixes";
import { useMayWrite, useSession } from "../../api/session";
import { ago, count, dateTime, plural } from "../../lib/format";
import { bulkFixName, fixName, selectionName } from "../../lib/naming";
import { useNow, useZone } from "../../lib/zone";
import { LoadError } from "../../ui/LoadError";
import { Button, Choice, LinkButton } from "../../ui/controls";
import { ConfirmDialog } from "../../ui/Dialog";
import { SkeletonRows, Chip, Notice, PageHead, Panel } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import { KeyText } from "../../ui/WithheldNotice";
import { BULK_STATUS } from "./bulkStatus";
import styles from "./Fixes.module.css";
import { KINDS } from "./kinds";
import { UndoBulkFix } from "./UndoBulkFix";

/** The screen that lists bulk fixes of all people, and one's own drafts that were made by hand. */
export function Fixes() {
  const [whose, setWhose] = useState<"all" | "mine">("all");
  const list = useBulkFixes(whose === "mine");
  const rows = list.data?.pages.flatMap((page) => page.results) ?? [];
  useTitle("Fixes");
  return (
    <>
      <PageHead
        title="Fixes"
        note="Drafts of records, made in bulk or by hand. Nothing is written to Kafka until you replay them."
      >
        <Choice
          label="Whose bulk fixes"
          value={whose}
          options={[
            { value: "all", label: "Everybody" },
            { value: "mine", label: "Mine" },
          ]}
          onChange={setWhose}
        />
      </PageHead>
      <Panel label="Bulk fixes" title="Bulk fixes">
        {list.isPending && <SkeletonRows rows={2} height={34} />}
        {list.isError && !list.data && (
          <LoadError
            title="The bulk fixes could not be loaded"
            error={list.error}
            onAgain={() => void list.refetch()}
          />
        )}
        {list.data && rows.length === 0 && (
          <Notice title="No bulk fixes yet">
            Choose <Link to="/records">records</Link> or a <Link to="/groups">group</Link>, then press{" "}
            <i>Fix in bulk…</i>
          </Notice>
        )}
        {rows.length > 0 && (
          <div className={styles.scroll}>
            <table className={styles.table}>
              <thead>
                <tr>
                  <th>Bulk fix</th>
                  <th>State</th>
                  <th>Selection</th>
                  <th>Changed, untouched, invalid</th>
                  <th className="num">Drafts left</th>
                  <th>By</th>
                  <th>
                    <span className="sr">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {rows.map((one) => (
                  <BulkFixRow key={one.id} bulk={one} />
                ))}
              </tbody>
            </table>
          </div>
        )}
        {list.hasNextPage && (
          <div className={styles.more}>
            <LinkButton onClick={() => void list.fetchNextPage()}>Older bulk fixes</LinkButton>
          </div>
        )}
      </Panel>
      <OwnDrafts />
    </>
  );
}

function BulkFixRow({ bulk }: { bulk: BulkFix }) {
  const { zone } = useZone();
  const now = useNow(10_000);
  const { label, tone } = BULK_STATUS[bulk.status];
  const { counts, selection } = bulk;
  return (
    <tr data-testid="bulk-fix">
      <td className={styles.title}>
        <Link className="b" to={`/bulk-fixes/${bulk.id}`}>
          {bulkFixName(bulk.id)}
          {bulk.name && `: ${bulk.name}`}
        </Link>
        <span className="s t3 cut" title={bulk.program}>
          {KINDS[bulk.kind]}
          {bulk.program && (
            <>
              {" "}
              <code>{bulk.program}</code>
            </>
          )}
        </span>
      </td>
      <td>
        <Chip tone={tone}>{label}</Chip>
      </td>
      <td className={styles.title}>
        <Link to={`/bulk-fixes/new?selection=${selection.id}`}>{selectionName(selection.id)}</Link>
        <span className="s t3 cut" title={selection.title}>
          {plural(selection.count, "record")}: {selection.title}
        </span>
      </td>
      <td>
        <b className="passed">{count(counts.changed)}</b>, {count(counts.untouched)},{" "}
        <span className={counts.invalid > 0 ? "failed b" : undefined}>{count(counts.invalid)}</span>
        {counts.matched < selection.count && <span className="s t3"> of {count(counts.matched)} checked</span>}
      </td>
      <td className={`num ${styles.draftCount}`}>{count(bulk.drafts)}</td>
      <td className="s">
        {bulk.author ?? "–"}
        <span className="t3" title={dateTime(bulk.created_at, zone)}>
          , {ago(bulk.created_at, now)}
        </span>
      </td>
      <td>
        <RowActions bulk={bulk} />
      </td>
    </tr>
  );
}

function RowActions({ bulk }: { bulk: BulkFix }) {
  const { data: session } = useSession();
  if (bulk.author === null || session?.username !== bulk.author) return null;
  return (
    <div className={styles.actions}>
      <UndoBulkFix bulk={bulk} small />
      <DiscardBulkDrafts bulk={bulk} />
    </div>
  );
}

/** Deletes the drafts without restoring those that they replaced. */
function DiscardBulkDrafts({ bulk }: { bulk: BulkFix }) {
  const may = useMayWrite();
  const discard = useDiscardDrafts();
  const [asking, setAsking] = useState(false);
  if (bulk.drafts === 0 || UNFINISHED.has(bulk.status)) return null;
  return (
    <>
      <Button small kind="quiet" barred={may.allowed ? undefined : may.reason} onClick={() => setAsking(true)}>
        Discard drafts…
      </Button>
      <ConfirmDialog
        open={asking}
        title={`Discard all drafts of ${bulkFixName(bulk.id)}?`}
        confirmLabel={`Discard ${plural(bulk.drafts, "draft")}`}
        cancelLabel="Keep them"
        danger
        busy={discard.isPending}
        error={discard.error?.message ?? null}
        onClose={() => setAsking(false)}
        onConfirm={() => discard.mutate({ bulk_fix: bulk.id }, { onSuccess: () => setAsking(false) })}
      >
        {bulk.replaced > 0
          ? `The ${plural(bulk.replaced, "draft")} that it replaced ${bulk.replaced === 1 ? "is" : "are"} lost, too. Undo brings them back. `
          : ""}
        Records already sent are not affected.
      </ConfirmDialog>
    </>
  );
}

function OwnDrafts() {
  const { zone } = useZone();
  const { data, error, refetch } = useOwnDrafts("by_hand");
  return (
    <Panel
      className={styles.gap}
      label="My drafts made by hand"
      title={
        <>
          <h2>My drafts made by hand</h2>
          {data && <span className="s t3">{count(data.count)}</span>}
        </>
      }
    >
      {error && !data && (
        <LoadError title="Your drafts could not be loaded" error={error} onAgain={() => void refetch()} />
      )}
      {!data && !error && <SkeletonRows rows={3} />}
      {data?.count === 0 && <Notice title="You have no drafts made by hand">Open a record and press Fix.</Notice>}
      {data && data.results.length > 0 && (
        <ul className={styles.drafts}>
          {data.results.map((one) => (
            <li key={one.id} data-testid="draft">
              <Link to={`/records/${one.dead_letter.id}/fix`} className="b">
                {fixName(one.id)}
              </Link>
              <span className="mono cut">
                <KeyText of={one.dead_letter} />
              </span>
              <span className="s t3 cut">
                {one.dead_letter.topic}/{one.dead_letter.partition}/{one.dead_letter.offset}
              </span>
              {one.identical && <Chip>Equals the original</Chip>}
              <span className="sp" />
              <span className="s t3 nw">{dateTime(one.updated_at, zone)}</span>
            </li>
          ))}
        </ul>
      )}
      {data && data.results.length < data.count && (
        <p className={styles.more}>The latest {count(data.results.length)} are listed.</p>
      )}
    </Panel>
  );
}
