import { useState } from "react";
import { Link } from "react-router";
import { useGroupsAct, useOpenGroups } from "../../api/groups";
import { useMayAct } from "../../api/session";
import type { Group } from "../../api/types";
import { groupRecordsOf, recordsOf } from "../../lib/filter";
import { ago, count } from "../../lib/format";
import { ALL_TIME } from "../../lib/ranges";
import { withSpan, type Span } from "../../lib/span";
import { groupState } from "../../lib/states";
import { WORK_STATES, allWork } from "../../lib/work";
import { useNow } from "../../lib/zone";
import { Button } from "../../ui/controls";
import { LazyConfirmDialog } from "../../ui/LazyConfirmDialog";
import { Chip, Notice, Panel, SkeletonRows, join } from "../../ui/Panel";
import tables from "../../ui/tables.module.css";
import { WorkBar } from "../../ui/WorkBar";
import { ReplayButton } from "../plan/ReplayButton";
import styles from "./OpenWork.module.css";

const MOST = 6;

/** The unresolved groups with the most open dead letters, each with its next step. */
export function OpenGroups({ span }: { span: Span }) {
  const { data, error } = useOpenGroups(MOST);
  const now = useNow(10_000);
  return (
    <Panel
      label="Groups by open records"
      title={
        <>
          <h2>Groups by open records</h2>
          <span className="s t3">A group can be resolved when none of its records is open or replaying.</span>
        </>
      }
      aside={<Link to={withSpan("/groups?sort=open", span)}>All groups</Link>}
    >
      {!data &&
        (error ? <Notice title="The groups could not be loaded">{error.message}</Notice> : <SkeletonRows rows={6} />)}
      {data?.results.length === 0 && <Notice title="No unresolved groups" />}
      {data && data.results.length > 0 && (
        <div className={tables.scroll}>
          <table className={join(tables.table, styles.groups)}>
            <thead>
              <tr>
                <th>Group</th>
                <th className={styles.optional}>Stage</th>
                {WORK_STATES.map(({ state, label }) => (
                  <th key={state} className={join("num", state !== "open" && styles.optional)}>
                    {label[0]!.toUpperCase() + label.slice(1)}
                  </th>
                ))}
                <th className={join("num", styles.optional)}>All</th>
                <th className={styles.optional}>Share</th>
                <th className={styles.optional}>Last seen</th>
                <th>
                  <span className="sr">Next step</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {data.results.map((group) => (
                <Row key={group.id} group={group} now={now} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

function Row({ group, now }: { group: Group; now: number }) {
  const { work } = group;
  const state = groupState(group.state);
  return (
    <tr data-testid="open-group">
      <td className={styles.title}>
        <span className="row" style={{ gap: "2px 6px", flexWrap: "wrap" }}>
          <Link to={`/groups/${group.id}`} className="b" title={group.message || group.title}>
            {group.title}
          </Link>
          {group.all_closed ? (
            <Chip tone="passed">✓ All passed</Chip>
          ) : (
            state.glyph && (
              <Chip tone={state.tone}>
                {state.glyph} {state.label}
              </Chip>
            )
          )}
        </span>
      </td>
      <td className={styles.optional}>
        <Chip mono>{group.stage ?? "unreadable"}</Chip>
      </td>
      {WORK_STATES.map(({ state }) => (
        <td
          key={state}
          className={join(
            "num",
            work[state] === 0 ? "t3" : state === "open" && "b",
            state !== "open" && styles.optional,
          )}
        >
          {work[state] === 0 ? (
            0
          ) : (
            <Link to={recordsOf({ group: String(group.id), work: state }, ALL_TIME)}>{count(work[state])}</Link>
          )}
        </td>
      ))}
      <td className={join("num t2", styles.optional)}>{count(allWork(work))}</td>
      <td className={styles.optional}>
        <span className={styles.bar}>
          <WorkBar work={work} />
        </span>
      </td>
      <td className={join("s t2 nw", styles.optional)}>{ago(group.last_seen, now)}</td>
      <td>
        <NextStep group={group} />
      </td>
    </tr>
  );
}

function NextStep({ group: { id, work, all_closed } }: { group: Group }) {
  if (work.open > 0)
    return (
      <ReplayButton hasShortcut={false} what={{ filter: groupRecordsOf(id) }}>
        Replay {count(work.open)} open…
      </ReplayButton>
    );
  return all_closed ? <ResolveGroup id={id} /> : null;
}

function ResolveGroup({ id }: { id: number }) {
  const may = useMayAct();
  const act = useGroupsAct();
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button barred={may.allowed ? undefined : may.reason} onClick={() => setOpen(true)}>
        Resolve…
      </Button>
      {isOpen && (
        <LazyConfirmDialog
          title="Resolve this group"
          inputLabel="Reason"
          required
          confirmLabel="Resolve"
          busy={act.isPending}
          error={act.error?.message ?? null}
          onClose={() => (setOpen(false), act.reset())}
          onConfirm={(reason) =>
            act.mutate({ groups: [id], act: "resolve", body: { reason } }, { onSuccess: () => setOpen(false) })
          }
        >
          None of its records is open or replaying. A new record with the same failure moves it back.
        </LazyConfirmDialog>
      )}
    </>
  );
}
