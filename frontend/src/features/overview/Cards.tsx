import { Link } from "react-router";
import { useConnectors } from "../../api/connectors";
import { useSummary } from "../../api/metrics";
import { count, plural } from "../../lib/format";
import { taskState } from "../../lib/states";
import { Sparkline } from "../../ui/charts";
import { Bones, Chip, Panel } from "../../ui/Panel";
import styles from "./Overview.module.css";

export function Cards({ from }: { from: string }) {
  const { data } = useSummary(from);
  return (
    <div className={styles.cards}>
      <Panel>{data ? <FailingTopics topics={data.failing_topics} /> : <Bones rows={2} height={30} />}</Panel>
      <Panel>{data ? <Unresolved groups={data.unresolved_groups} /> : <Bones rows={2} height={30} />}</Panel>
      <Panel>{data ? <Errors errors={data.errors_24h} /> : <Bones rows={2} height={30} />}</Panel>
      <Panel><Tasks /></Panel>
    </div>
  );
}

function FailingTopics({ topics }: { topics: { count: number; watched: number; names: string[] } }) {
  const quiet = topics.watched - topics.count;
  return (
    <div className={styles.card}>
      <div className="s t2">Failing topics</div>
      <div className={styles.big}>{count(topics.count)} <small>of {count(topics.watched)} watched</small></div>
      <div className="s t3 cut" style={{ marginTop: 5 }}>
        {topics.names.length > 0 ? topics.names.join(", ") : "No dead letters in this time"}
        {topics.names.length > 0 && quiet > 0 && `; ${quiet === 1 ? "the other one is" : `the other ${quiet} are`} quiet`}
      </div>
    </div>
  );
}

function Unresolved({ groups }: { groups: { count: number; new: number; regressed: number } }) {
  const ongoing = groups.count - groups.new - groups.regressed;
  return (
    <Link to="/groups" className={styles.card}>
      <div className="s t2">Unresolved groups</div>
      <div className="row">
        <span className={styles.big}>{count(groups.count)}</span>
        <span className="sp" />
        {groups.new > 0 && <Chip tone="failed">✕ {count(groups.new)}</Chip>}
        {groups.regressed > 0 && <Chip tone="failed">↺ {count(groups.regressed)}</Chip>}
      </div>
      <div className="s t3 cut" style={{ marginTop: 5 }}>{count(groups.new)} new, {count(groups.regressed)} regressed, {count(ongoing)} ongoing</div>
    </Link>
  );
}

function Errors({ errors }: { errors: { count: number; mean_before: number | null; change_percent: number | null; days: number[] } }) {
  const { change_percent: change, mean_before: mean } = errors;
  return (
    <div className={styles.card}>
      <div className="s t2">Errors in 24 h</div>
      <div className="row">
        <Link to="/records?from=now-24h" className={styles.big} style={{ color: "inherit" }}>{count(errors.count)}</Link>
        <span className="sp" />
        <Sparkline points={errors.days} colour="var(--put-1)" width={84} label={`Errors a day: ${errors.days.join(", ")}`} />
      </div>
      <div className="s t3 cut" style={{ marginTop: 5 }}>
        {change === null ? (
          "No errors in the 6 days before to compare with"
        ) : (
          <><b className={change > 0 ? "failed" : "passed"}>{change > 0 ? "+" : change < 0 ? "−" : ""}{Math.abs(Math.round(change))} %</b> on the mean of the 6 days before ({mean?.toFixed(1)})</>
        )}
      </div>
    </div>
  );
}

function Tasks() {
  const { data } = useConnectors();
  if (!data) return <Bones rows={2} height={30} />;
  const tasks = data.results.flatMap((connector) => connector.tasks.map((task) => ({ name: `${connector.name}-${task.id}`, state: task.state })));
  const failed = tasks.filter((task) => task.state === "FAILED");
  const running = tasks.filter((task) => task.state === "RUNNING").length;
  return (
    <Link to="/connectors" className={styles.card}>
      <div className="s t2">Running tasks</div>
      <div className="row">
        <span className={styles.big}>{count(running)} <small>of {count(tasks.length)}</small></span>
        <span className="sp" />
        {failed.length > 0 && <Chip tone="failed">{taskState("FAILED").glyph} {count(failed.length)}</Chip>}
      </div>
      <div className="s t3 cut" style={{ marginTop: 5 }}>
        {!data.reachable ? "The engine is away" : failed.length > 0 ? `${failed.map((task) => task.name).join(", ")} failed` : `${plural(data.results.length, "connector")}, none failed`}
      </div>
    </Link>
  );
}
