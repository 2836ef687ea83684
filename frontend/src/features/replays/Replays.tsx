import { Link, useNavigate, useSearchParams } from "react-router";
import { useFixes } from "../../api/fixes";
import { useReplays } from "../../api/replays";
import type { Replay } from "../../api/replayTypes";
import { ago, count, dateMinute, plural } from "../../lib/format";
import { fixName, replayName } from "../../lib/naming";
import { shownStatus } from "../../lib/outcome";
import { replayStatus } from "../../lib/states";
import { useNow, useZone } from "../../lib/zone";
import { ClusterMark } from "../clusters/ClusterMark";
import { LinkButton } from "../../ui/controls";
import { TabRow } from "../../ui/TabRow";
import { SkeletonRows, Chip, Notice, PageHead, Panel, join } from "../../ui/Panel";
import tables from "../../ui/tables.module.css";
import { KeyText } from "../../ui/WithheldNotice";
import { useTitle } from "../../ui/useTitle";
import { OutcomeBar } from "./OutcomeBar";
import styles from "./Replays.module.css";

const TABS = ["all", "running", "paused", "watching", "waits_for_approval", "planned", "done", "cancelled"];

/** The list of replays with their outcomes. */
export function Replays() {
  const [params, setParams] = useSearchParams();
  const status = TABS.find((tab) => tab === params.get("status")) ?? "all";
  const list = useReplays(status === "all" ? "" : status);
  const rows = list.data?.pages.flatMap((page) => page.results) ?? [];
  useTitle("Replays");
  return (
    <>
      <PageHead
        title="Replays"
        note="Dead letters written back to their topic, each with its outcome as far as it is known."
      />
      <DraftsPanel />
      <div style={{ marginBottom: 12 }}>
        <TabRow
          value={status}
          onChange={(next) => setParams(next === "all" ? {} : { status: next })}
          items={TABS.map((tab) => ({ value: tab, label: tab === "all" ? "All" : replayStatus(tab).label }))}
        />
      </div>
      <Panel label="Replays">
        {list.isPending && <SkeletonRows rows={6} height={34} />}
        {list.isError && rows.length === 0 && (
          <Notice title="The replays could not be loaded">{list.error.message}</Notice>
        )}
        {list.isSuccess && rows.length === 0 && (
          <Notice
            title={
              status === "all" ? "Nothing was replayed yet" : `No replay has the status “${replayStatus(status).label}”`
            }
          >
            {status === "all" && (
              <>
                Open a <Link to="/records">record</Link> and fix it, or take a whole <Link to="/groups">group</Link>.
              </>
            )}
          </Notice>
        )}
        {rows.length > 0 && <ReplayTable rows={rows} />}
        {list.hasNextPage && (
          <div className={tables.more}>
            <LinkButton onClick={() => void list.fetchNextPage()}>Older replays</LinkButton>
          </div>
        )}
      </Panel>
    </>
  );
}

function ReplayTable({ rows }: { rows: readonly Replay[] }) {
  const { zone } = useZone();
  const now = useNow(10_000);
  const navigate = useNavigate();
  return (
    <div className={tables.scroll}>
      <table className={join(tables.compact, tables.clickable, styles.list)}>
        <thead>
          <tr>
            <th>Replay</th>
            <th>Status</th>
            <th>Outcome</th>
            <th className={`num ${styles.optional}`}>Records</th>
            <th className={styles.optional}>By</th>
            <th className={styles.optional}>Started</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((replay) => {
            const { label, glyph, tone } = replayStatus(shownStatus(replay));
            const { counts } = replay;
            return (
              <tr key={replay.id} onClick={() => void navigate(`/replays/${replay.id}`)} data-testid="replay">
                <td className={styles.title}>
                  <Link
                    className="b cut"
                    style={{ display: "block" }}
                    to={`/replays/${replay.id}`}
                    onClick={(event) => event.stopPropagation()}
                  >
                    {replayName(replay.id)}: {replay.title}
                  </Link>
                  <span className="s t3 cut" style={{ display: "block" }}>
                    <ClusterMark name={replay.target_cluster || replay.source_cluster} /> to{" "}
                    {replay.target_topic || "their origin topic"}
                    {replay.edited > 0 && `, ${count(replay.edited)} edited`}
                    {replay.selection.continues !== null && `, continues ${replayName(replay.selection.continues)}`}
                    {replay.reason && `: ${replay.reason}`}
                  </span>
                </td>
                <td>
                  <Chip tone={tone}>
                    {glyph && <span aria-hidden="true">{glyph}</span>}
                    {label}
                  </Chip>
                </td>
                <td className={styles.outcomeCell}>
                  <OutcomeBar figures={counts} small />
                  <span className="s t3 nw">
                    {count(counts.passed)} passed,{" "}
                    <span className={counts.failed_again > 0 ? "failed b" : undefined}>
                      {count(counts.failed_again)} failed again
                    </span>
                    ,{" "}
                    <span className={counts.unknown > 0 ? "unknown b" : undefined}>
                      {count(counts.unknown)} unknown
                    </span>
                  </span>
                </td>
                <td className={`num b ${styles.optional}`}>{count(counts.total)}</td>
                <td className={`s t2 ${styles.optional}`}>{replay.started_by ?? replay.created_by ?? "–"}</td>
                <td
                  className={`s nw ${styles.optional}`}
                  title={dateMinute(replay.started_at ?? replay.created_at, zone)}
                >
                  {replay.started_at ? (
                    ago(replay.started_at, now)
                  ) : (
                    <span className="t3">planned {ago(replay.created_at, now)}</span>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** The signed-in user's drafts. */
function DraftsPanel() {
  const { data } = useFixes();
  const now = useNow(10_000);
  if (!data || data.results.length === 0) return null;
  return (
    <Panel
      className={styles.drafts}
      title={
        <>
          <h2>My drafts</h2>
          <span className="s t3">{plural(data.results.length, "record")}</span>
        </>
      }
    >
      <div className={styles.draftRows}>
        {data.results.slice(0, 8).map((fix) => (
          <Link key={fix.id} to={`/records/${fix.dead_letter.id}/fix`} className="s">
            <b>{fixName(fix.id)}</b>{" "}
            <span className="mono">
              {fix.dead_letter.topic} / {fix.dead_letter.partition} / {count(fix.dead_letter.offset)}
            </span>
            <span className="t3">
              key <KeyText of={fix.dead_letter} />, saved {ago(fix.updated_at, now)}
              {fix.identical && ", identical"}
            </span>
          </Link>
        ))}
        {data.results.length > 8 && <span className="s t3">and {count(data.results.length - 8)} more</span>}
      </div>
    </Panel>
  );
}
