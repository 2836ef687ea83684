import { Link } from "react-router";
import type { Connector } from "../../api/types";
import { recordsWith } from "../../lib/filter";
import { ago, count } from "../../lib/format";
import { shortClass, stageColour } from "../../lib/stages";
import { useNow } from "../../lib/zone";
import { Swatch } from "../../ui/charts";
import { Chip, Facts, Panel } from "../../ui/Panel";
import { ConnectorActions } from "./ConnectorActions";
import styles from "./Connectors.module.css";
import { StateChip } from "./StateChip";
import { TaskTable } from "./TaskTable";

export function ConnectorPanel({ connector, reachable, open }: { connector: Connector; reachable: boolean; open: boolean }) {
  const { name, config, metrics } = connector;
  return (
    <Panel
      label={name}
      title={<><h2><Link to={`/connectors/${name}`}>{name}</Link></h2><StateChip state={connector.state} /><span className="s t3">{[connector.type, shortClass(config["connector.class"]), words(connector.delivery)].filter((part) => part && part !== "–").join(", ")}</span></>}
      aside={<ConnectorActions connector={connector} reachable={reachable} />}
    >
      <Figures connector={connector} />
      <Stages connector={connector} />
      <TaskTable connector={connector} reachable={reachable} />
      <details className={styles.fold} open={open}>
        <summary>Every metric, and the configuration with secrets masked</summary>
        <div className={styles.inside}>
          <div>
            <h3>Metrics</h3>
            <Facts rows={Object.entries(metrics).map(([metric, value]) => [metric, metric === "last-failure-timestamp" ? <LastFailure key={metric} at={value} /> : count(value)])} />
          </div>
          <div>
            <h3>Configuration</h3>
            <Facts rows={Object.entries(config).sort().map(([option, value]) => [<span key={option} className="mono">{option}</span>, <span key="v" className="mono t2">{value === "" ? "(empty)" : value}</span>])} />
          </div>
        </div>
      </details>
    </Panel>
  );
}

const FIGURES: [string, string][] = [
  ["records-consumed", "consumed"],
  ["records-delivered", "delivered"],
  ["records-dead-lettered", "dead-lettered"],
  ["records-skipped", "skipped"],
  ["records-filtered", "filtered"],
  ["total-record-failures", "failures"],
  ["total-retries", "retries"],
];

function Figures({ connector }: { connector: Connector }) {
  return (
    <div className={styles.figures}>
      {FIGURES.map(([metric, label]) => {
        const value = connector.metrics[metric] ?? 0;
        const shown = count(value);
        return (
          <div key={metric} className={styles.figure}>
            <b>{metric === "records-dead-lettered" && value > 0 ? <Link to={recordsWith("connector", connector.name)} className="failed">{shown}</Link> : shown}</b>
            <span className="s t3">{label}</span>
          </div>
        );
      })}
      <div className={styles.figure}><b>{count(connector.lag)}</b><span className="s t3">lag</span></div>
    </div>
  );
}

function Stages({ connector }: { connector: Connector }) {
  const failures = new Map<string, number>();
  for (const task of connector.tasks) for (const [stage, number] of Object.entries(task.stage_failures)) failures.set(stage, (failures.get(stage) ?? 0) + number);
  const failing = [...failures].filter(([, number]) => number > 0).sort((a, b) => b[1] - a[1]);
  return (
    <div className={styles.stages}>
      <span className="mono">{connector.topics.join(", ") || "no topic"}</span>
      {connector.dlq_topic && <><span className="t3">dead letters to</span><span className="mono">{connector.dlq_topic}</span></>}
      <span className="sp" />
      {failing.length === 0 ? <span className="t3">no failures at any stage</span> : failing.map(([stage, number]) => <StageChip key={stage} stage={stage} failed={number} />)}
    </div>
  );
}

/** A stage by its metric key `<index>:<type>:<class>`, with its failures. */
function StageChip({ stage, failed }: { stage: string; failed: number }) {
  const [, type = stage, name] = stage.split(":");
  return (
    <Chip>
      <Swatch colour={stageColour(type)} />
      <span className="mono" style={{ fontSize: 10.5 }}>{type}</span>
      {name && shortClass(name)}
      <b style={{ color: "var(--text)" }}>{count(failed)}</b>
    </Chip>
  );
}

function LastFailure({ at }: { at: number }) {
  const now = useNow(10_000);
  return <>{at > 0 ? ago(new Date(at).toISOString(), now) : "never"}</>;
}

function words(delivery: string | null): string | null {
  return delivery ? delivery.replaceAll("_", " ") : null;
}
