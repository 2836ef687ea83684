import { Link, useNavigate, useParams } from "react-router";
import { UNFINISHED, useBulkAct, useBulkFix, useBulkSelection, type BulkFix } from "../../api/bulkFixes";
import { useMaySend } from "../../api/health";
import { newIdempotencyKey } from "../../api/replays";
import { useMayNotRead, useMayWrite } from "../../api/session";
import { count, dateTime, plural } from "../../lib/format";
import { bulkFixName, selectionName } from "../../lib/naming";
import { useZone } from "../../lib/zone";
import { Button } from "../../ui/controls";
import { SkeletonRows, Chip, Facts, Meter, Notice, PageHead, Panel, Strip } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import { Rehearsal } from "../fix/Rehearsal";
import { BULK_STATUS } from "./bulkStatus";
import styles from "./BulkFix.module.css";
import { KINDS } from "./kinds";
import { RenameBulkFix } from "./RenameBulkFix";
import { UndoBulkFix } from "./UndoBulkFix";

/** The screen of one bulk fix: its progress, its result, and what can be done with it. */
export function BulkJob() {
  const { id = "" } = useParams();
  const { data, error } = useBulkFix(id);
  useTitle(data ? bulkFixName(data.id) : "Bulk fix");
  if (!data)
    return (
      <Panel>
        {error ? (
          <Notice title="This bulk fix could not be loaded" actions={<Button to="/records">To the records</Button>}>
            {error.message}
          </Notice>
        ) : (
          <SkeletonRows rows={8} />
        )}
      </Panel>
    );
  return <BulkFixDetails bulk={data} />;
}

function BulkFixDetails({ bulk }: { bulk: BulkFix }) {
  const { zone } = useZone();
  const { counts, selection, status } = bulk;
  const { label, tone } = BULK_STATUS[status];
  const busy = UNFINISHED.has(status);
  const unread = useMayNotRead();
  const figures = [
    { name: "matched", value: counts.matched },
    { name: "changed", value: counts.changed, className: "passed" },
    { name: "untouched", value: counts.untouched },
    { name: "invalid", value: counts.invalid, className: counts.invalid > 0 ? "failed" : undefined },
    { name: "kept", value: counts.kept },
  ];
  return (
    <>
      <PageHead
        title={
          <div className="row">
            <h1>Bulk fix {bulkFixName(bulk.id)}</h1>
            {bulk.name && <span className="t2">“{bulk.name}”</span>}
            <Chip tone={tone}>{label}</Chip>
            <RenameBulkFix bulk={bulk} />
          </div>
        }
        note={`${selectionName(selection.id)}: ${selection.title}. By ${bulk.author ?? "somebody"}, ${dateTime(bulk.created_at, zone)}.`}
      >
        <BulkFixActions bulk={bulk} />
      </PageHead>
      {status === "failed" && <Strip tone="failed">{bulk.trouble} No drafts were kept.</Strip>}
      {status === "done" && bulk.trouble !== "" && <Strip tone="warn">{bulk.trouble}</Strip>}
      {status === "cancelled" && (
        <Strip tone="warn">
          {bulk.trouble || `It was cancelled after ${count(counts.matched)} of ${plural(selection.count, "record")}.`}{" "}
          {bulk.drafts > 0
            ? `${plural(bulk.drafts, "draft")} of it ${bulk.drafts === 1 ? "is" : "are"} there until you undo it.`
            : "It left no drafts."}
        </Strip>
      )}
      {status === "undoing" && (
        <Strip tone={bulk.done_at ? "waiting" : "failed"}>
          {bulk.done_at ? "" : `${bulk.trouble} `}Deleting its drafts: {plural(bulk.drafts, "is", "are")} left.
        </Strip>
      )}
      {status === "undone" && (
        <Strip tone="waiting">
          Its drafts are gone{bulk.replace ? " and those that it replaced are back" : ""}, but for those that were
          edited by hand{bulk.replace ? " or replaced" : ""} since.
        </Strip>
      )}
      <Panel
        title="Records"
        label="Records"
        aside={
          status === "running" && (
            <span className="s t3" role="status">
              {count(counts.matched)} of {count(selection.count)}
            </span>
          )
        }
      >
        {status === "running" && (
          <div className={styles.progress}>
            <Meter part={selection.count ? counts.matched / selection.count : 0} colour="var(--accent)" height={6} />
          </div>
        )}
        <dl className={styles.figures}>
          {figures.map(({ name, value, className }) => (
            <div key={name} data-testid={`bulk-${name}`}>
              <dd className={className}>{count(value)}</dd>
              <dt>{name}</dt>
            </div>
          ))}
        </dl>
        {counts.kept > 0 && !busy && (
          <p className={styles.note}>
            {plural(counts.kept, "record")} had a draft of yours already; this made none there.
          </p>
        )}
        {bulk.why.length > 0 && (
          <ul className={styles.whys}>
            {bulk.why.map((row) => (
              <li key={row.text}>
                <b>{count(row.count)}</b> {row.text}, such as <Link to={`/records/${row.dead_letter}`}>this one</Link>
              </li>
            ))}
          </ul>
        )}
      </Panel>
      {bulk.kind !== "offline" && (
        <Panel className={styles.gap} title="Change">
          <div className={styles.editing}>
            <Facts
              rows={[
                ["Kind", KINDS[bulk.kind]],
                [
                  "Program",
                  bulk.withheld ? (
                    <span key="program" className="t3">
                      Content withheld. It needs the right payload reader.
                    </span>
                  ) : (
                    <pre key="program" className={styles.program}>
                      {bulk.program}
                    </pre>
                  ),
                ],
              ]}
            />
          </div>
        </Panel>
      )}
      {bulk.drafts > 0 && !busy && (
        <div className={styles.gap}>
          <Rehearsal asked={{ bulk: bulk.id }} barred={unread} />
        </div>
      )}
    </>
  );
}

function BulkFixActions({ bulk }: { bulk: BulkFix }) {
  const may = useMayWrite();
  const send = useMaySend();
  const navigate = useNavigate();
  const act = useBulkAct(bulk.id);
  const freeze = useBulkSelection(bulk.id);
  const stop = may.allowed ? undefined : may.reason;
  const none = bulk.drafts === 0 ? "It has no drafts left" : undefined;
  const plan = () =>
    freeze.mutate(newIdempotencyKey(), { onSuccess: ({ id }) => void navigate(`/replays/new?selection=${id}`) });
  return (
    <>
      {(act.error ?? freeze.error) && (
        <span className="s failed" role="alert">
          {(act.error ?? freeze.error)?.message}
        </span>
      )}
      {bulk.status === "running" && (
        <Button barred={stop} busy={act.isPending} onClick={() => act.mutate("cancel")}>
          Cancel
        </Button>
      )}
      <UndoBulkFix bulk={bulk} />
      {(bulk.status === "done" || bulk.status === "cancelled") && (
        <Button kind="primary" barred={send.allowed ? none : send.reason} busy={freeze.isPending} onClick={plan}>
          Plan the replay of {plural(bulk.drafts, "record")}
        </Button>
      )}
    </>
  );
}
