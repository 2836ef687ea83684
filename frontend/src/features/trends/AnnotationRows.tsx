import type { UseQueryResult } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { Link } from "react-router";
import { useDeleteAnnotation } from "../../api/metrics";
import { useMayAct } from "../../api/session";
import type { Annotation, AnnotationList } from "../../api/types";
import { dateMinute } from "../../lib/format";
import { useZone } from "../../lib/zone";
import type { ChartMark } from "../../ui/charts";
import chartStyles from "../../ui/charts.module.css";
import { Button } from "../../ui/controls";
import { LazyConfirmDialog } from "../../ui/LazyConfirmDialog";
import { Notice, Panel, SkeletonRows } from "../../ui/Panel";
import styles from "./Trends.module.css";

/** The events behind the letters of the chart, newest first. A row that is pointed at or focused is marked there. */
export function AnnotationRows({
  answer,
  marks,
  onMark,
}: {
  answer: UseQueryResult<AnnotationList>;
  marks: readonly ChartMark[];
  onMark: (key: string | null) => void;
}) {
  const { zone } = useZone();
  const mayAct = useMayAct();
  const [deleting, setDeleting] = useState<Annotation | null>(null);
  const remove = useDeleteAnnotation();
  const close = () => {
    setDeleting(null);
    remove.reset();
  };
  const rows = new Map(answer.data?.results.map((row) => [row.id, row]));
  const left = rows.size - marks.length;
  return (
    <Panel
      label="Events"
      title={
        <>
          <h2>Events</h2>
          <span className="s t3">deployments, replays and changes of connectors</span>
        </>
      }
    >
      {!answer.data &&
        (answer.error ? (
          <Notice title="Not loaded" actions={<Button onClick={() => void answer.refetch()}>Try again</Button>}>
            {answer.error.message}
          </Notice>
        ) : (
          <SkeletonRows rows={3} />
        ))}
      {answer.data && marks.length === 0 && (
        <Notice title="No events in this time">
          A pipeline reports a deployment with <code>dlq annotate &quot;release 4.2&quot;</code>.
        </Notice>
      )}
      {marks.length > 0 && (
        <ol className={styles.events} reversed>
          {[...marks].reverse().map((mark) => {
            const row = rows.get(mark.key);
            return (
              row && (
                <li
                  key={mark.key}
                  tabIndex={0}
                  onPointerEnter={() => onMark(mark.key)}
                  onPointerLeave={() => onMark(null)}
                  onFocus={() => onMark(mark.key)}
                  onBlur={() => onMark(null)}
                >
                  <i className={chartStyles.markKey}>{mark.letter}</i>
                  <time dateTime={row.at}>{dateMinute(row.at, zone)}</time>
                  <span className="t3">{row.kind}</span>
                  <span className={styles.title}>
                    <EventTitle row={row} />
                    {row.text && <span className="t3"> {row.text}</span>}
                  </span>
                  <span className="t3 cut">{[row.actor, row.source].filter(Boolean).join(", ")}</span>
                  {row.removable && (
                    <Button
                      small
                      kind="quiet"
                      title={`Delete ${row.title}`}
                      barred={mayAct.allowed ? undefined : mayAct.reason}
                      onClick={() => setDeleting(row)}
                    >
                      Delete
                    </Button>
                  )}
                </li>
              )
            );
          })}
        </ol>
      )}
      {(left > 0 || answer.data?.complete === false) && (
        <p className={styles.more}>
          Only the newest {marks.length} events are shown. Choose a shorter time for others.
        </p>
      )}
      {deleting && (
        <LazyConfirmDialog
          title={`Delete ${deleting.title}`}
          confirmLabel="Delete event"
          danger
          busy={remove.isPending}
          error={remove.error?.message ?? null}
          onClose={close}
          onConfirm={() => remove.mutate(deleting.id, { onSuccess: close })}
        >
          The charts of all users stop showing this event. The audit trail keeps its title.
        </LazyConfirmDialog>
      )}
    </Panel>
  );
}

function EventTitle({ row }: { row: Annotation }): ReactNode {
  if (row.replay !== null) return <Link to={`/replays/${row.replay}`}>{row.title}</Link>;
  if (row.url)
    return (
      <a href={row.url} rel="noreferrer noopener" target="_blank">
        {row.title}
      </a>
    );
  return row.title;
}
