import { useState } from "react";
import { Link } from "react-router";
import { isUnfinished, useEndExport, useExports, type Export } from "../../api/exports";
import { plural } from "../../lib/format";
import { exportName } from "../../lib/naming";
import { LoadError } from "../../ui/LoadError";
import { ConfirmDialog, LinkButton } from "../../ui/controls";
import { RefreshError } from "../../ui/RefreshError";
import { SkeletonRows, Notice, PageHead, Panel, join } from "../../ui/Panel";
import tables from "../../ui/tables.module.css";
import { useTitle } from "../../ui/useTitle";
import { ExportRow } from "./ExportRow";
import styles from "./Exports.module.css";

/** The exports screen: files of dead letters with their contents and progress. */
export function Exports() {
  const list = useExports();
  const end = useEndExport();
  const [chosen, setChosen] = useState<Export>();
  const rows = list.data?.pages.flatMap((page) => page.results) ?? [];
  useTitle("Exports");
  const close = () => {
    setChosen(undefined);
    end.reset();
  };
  return (
    <>
      <PageHead
        title="Exports"
        note="Files of dead letters. Each file contains the records that matched when it was requested, in index order."
      />
      {list.isError && list.data && (
        <RefreshError
          error={list.error}
          at={list.dataUpdatedAt}
          onAgain={() => void (list.isFetchNextPageError ? list.fetchNextPage() : list.refetch())}
        />
      )}
      <Panel label="Exports">
        {list.isPending && <SkeletonRows rows={6} height={34} />}
        {list.isError && !list.data && (
          <LoadError title="The exports could not be loaded" error={list.error} onAgain={() => void list.refetch()} />
        )}
        {list.data && rows.length === 0 && (
          <Notice title="No exports yet">
            Filter the <Link to="/records">records</Link>, then export the matches. Exports of up to 10,000 records
            download immediately and are not listed here.
          </Notice>
        )}
        {rows.length > 0 && (
          <div className={tables.scroll}>
            <table className={join(tables.compact, tables.cards, styles.exports)}>
              <thead>
                <tr>
                  <th>Export</th>
                  <th>State</th>
                  <th className="num">Records</th>
                  <th className="num">Size</th>
                  <th className={styles.optional}>By</th>
                  <th>Requested</th>
                  <th>
                    <span className="sr">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {rows.map((job) => (
                  <ExportRow key={job.id} job={job} onEnd={() => setChosen(job)} />
                ))}
              </tbody>
            </table>
          </div>
        )}
        {list.hasNextPage && (
          <div className={tables.more}>
            <LinkButton onClick={() => void list.fetchNextPage()}>Older exports</LinkButton>
          </div>
        )}
      </Panel>
      {chosen && (
        <ConfirmDialog
          open
          danger
          title={
            isUnfinished(chosen) ? `Cancel ${exportName(chosen.id)}?` : `Delete the file of ${exportName(chosen.id)}?`
          }
          confirmLabel={isUnfinished(chosen) ? "Cancel the export" : "Delete the file"}
          cancelLabel="Keep it"
          busy={end.isPending}
          error={end.error?.message ?? null}
          onClose={close}
          onConfirm={() => end.mutate(chosen, { onSuccess: close })}
        >
          {isUnfinished(chosen)
            ? "The partial file is deleted."
            : `${plural(chosen.rows, "record")}. The manifest remains. The file cannot be restored.`}
        </ConfirmDialog>
      )}
    </>
  );
}
