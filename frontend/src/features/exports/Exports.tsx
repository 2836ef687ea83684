import { useState } from "react";
import { Link } from "react-router";
import { isUnfinished, useEndExport, useExports, type Export } from "../../api/exports";
import { plural } from "../../lib/format";
import { exportName } from "../../lib/naming";
import { LoadError } from "../../ui/LoadError";
import { ConfirmDialog, LinkButton } from "../../ui/controls";
import { RefreshError } from "../../ui/RefreshError";
import { SkeletonRows, Notice, PageHead, Panel } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import { ExportRow } from "./ExportRow";
import styles from "./Exports.module.css";

/** Which files were made of dead letters, what do they hold, and how far is mine? */
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
            Filter the <Link to="/records">records</Link>, then export the matches. Up to 10,000 are downloaded at once,
            and are not listed here.
          </Notice>
        )}
        {rows.length > 0 && (
          <div className={styles.scroll}>
            <table className={styles.table}>
              <thead>
                <tr>
                  <th>Export</th>
                  <th>State</th>
                  <th className="num">Records</th>
                  <th className="num">Size</th>
                  <th className={styles.optional}>By</th>
                  <th>Asked</th>
                  <th>
                    <span className="sr">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {rows.map((one) => (
                  <ExportRow key={one.id} one={one} onEnd={() => setChosen(one)} />
                ))}
              </tbody>
            </table>
          </div>
        )}
        {list.hasNextPage && (
          <div className={styles.more}>
            <LinkButton onClick={() => void list.fetchNextPage()}>Older ones</LinkButton>
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
