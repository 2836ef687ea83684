import type { ReactNode } from "react";
import { Link } from "react-router";
import type { ConnectCluster, Connector } from "../../api/types";
import { connectorPage, deadLettersOf, isQuery } from "../../lib/connectors";
import { count, plural } from "../../lib/format";
import { shortClass } from "../../lib/stages";
import { Chip, Facts, Panel, Strip } from "../../ui/Panel";
import { ConnectorActions } from "./ConnectorActions";
import styles from "./Connectors.module.css";
import { MetricTable } from "./MetricTable";
import { QueryRun, SilentQuery } from "./QueryRun";
import { StageBars, hasFailed } from "./StageBars";
import { ConnectorStateChip } from "./StateChip";
import { TaskTable } from "./TaskTable";

export function ConnectorPanel({
  connector,
  cluster,
  namesake,
  isNameShared,
  isFolded,
  isClusterShown,
}: {
  connector: Connector;
  cluster: ConnectCluster;
  /** A sink of the same name in another cluster. */
  namesake: Connector | undefined;
  /** Whether another connector or query has this name, so that its dead letters need a topic to be told apart. */
  isNameShared: boolean;
  /** Whether the details are below, folded. */
  isFolded?: boolean;
  isClusterShown?: boolean;
}) {
  const { name, config, kind } = connector;
  const { reachable } = cluster;
  const plugin = shortClass(config["connector.class"]);
  return (
    <Panel
      label={name}
      title={
        <>
          <h2>
            <Link to={connectorPage(connector)}>{name}</Link>
          </h2>
          <ConnectorStateChip shown={connector.shown} />
          <Chip>{kind}</Chip>
          {isClusterShown && <Chip title="Connect cluster">{cluster.name}</Chip>}
          {!isQuery(connector) && plugin !== kind && <span className="s t3">{plugin}</span>}
        </>
      }
      aside={isQuery(connector) ? undefined : <ConnectorActions connector={connector} reachable={reachable} />}
    >
      {namesake && (
        <Strip tone="warn">
          The Connect cluster {namesake.cluster} has a sink of this name, too. Both use the consumer group connect-
          {name}, so Kafka splits the partitions of their topics between them.
        </Strip>
      )}
      <SilentQuery connector={connector} />
      {connector.has_figures && <Figures connector={connector} isNameShared={isNameShared} />}
      <TaskTable connector={connector} reachable={reachable} />
      {connector.stages.some(hasFailed) ? (
        <div className={styles.about}>
          <section>
            <h3>Failures by stage</h3>
            <StageBars connector={connector} />
          </section>
          <section>
            <h3>{isQuery(connector) ? "Run" : "Delivery guarantees"}</h3>
            <About connector={connector} />
          </section>
        </div>
      ) : (
        <div className={styles.about}>
          <section>
            <About connector={connector} />
          </section>
          <section className="s t3">
            {!connector.has_figures
              ? noFigures(cluster)
              : connector.stages.length === 0
                ? "No task has reported its stages yet."
                : `No failures at any of its ${plural(connector.stages.length, "stage")}.`}
          </section>
        </div>
      )}
      {isFolded && (
        <details className={styles.fold}>
          <summary>
            {isQuery(connector)
              ? "Every metric, and the error options with secrets masked"
              : connector.has_figures
                ? "Every metric by task, and the configuration with secrets masked"
                : "The configuration with secrets masked"}
          </summary>
          <ConnectorDetails connector={connector} />
        </details>
      )}
    </Panel>
  );
}

/** Every metric by task, and the configuration with secrets masked. */
export function ConnectorDetails({ connector }: { connector: Connector }) {
  return (
    <div className={styles.inside}>
      {connector.has_figures && (
        <div>
          <h3>Metrics</h3>
          <MetricTable connector={connector} />
        </div>
      )}
      <div>
        {connector.has_figures && <h3>{isQuery(connector) ? "Error options" : "Configuration"}</h3>}
        <Facts
          rows={Object.entries(connector.config)
            .sort()
            .map(([option, value]) => [
              <span key={option} className="mono">
                {option}
              </span>,
              <span key="v" className="mono t2">
                {value === "" ? "(empty)" : value}
              </span>,
            ])}
        />
      </div>
    </div>
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
const DROPPED: [string, string] = ["dropped-records-total", "dropped"];

function Figures({ connector, isNameShared }: { connector: Connector; isNameShared: boolean }) {
  const { metrics, kind } = connector;
  const rows = kind === "stream" || (metrics[DROPPED[0]] ?? 0) > 0 ? [...FIGURES, DROPPED] : FIGURES;
  return (
    <div className={styles.figures}>
      {rows.map(([metric, label]) => {
        const value = metrics[metric] ?? 0;
        const shown = count(value);
        return (
          <div key={metric} className={styles.figure}>
            <b>
              {metric === "records-dead-lettered" && value > 0 ? (
                <Link to={deadLettersOf(connector, isNameShared)} className="failed">
                  {shown}
                </Link>
              ) : (
                shown
              )}
            </b>
            <span className="s t3">{label}</span>
          </div>
        );
      })}
      <div className={styles.figure}>
        <b>{count(connector.lag)}</b>
        <span className="s t3">lag</span>
      </div>
    </div>
  );
}

/** The facts of a connector or a query: what it reads and promises, and how the query runs. */
function About({ connector }: { connector: Connector }) {
  return connector.query ? (
    <QueryRun run={connector.query} driver={connector.worker_id} more={promises(connector)} />
  ) : (
    <Facts rows={promises(connector)} />
  );
}

function promises(connector: Connector): [string, ReactNode][] {
  const { topics, delivery, dlq_topic, dead_letters, metrics } = connector;
  const lost = metrics["deadletterqueue-produce-failures"] ?? 0;
  return [
    [
      connector.kind === "source" ? "Writes" : "Reads",
      <span key="t" className="mono">
        {topics.join(", ") || "no topic yet"}
      </span>,
    ],
    ...(connector.has_figures && !isQuery(connector)
      ? [["Delivery", (delivery ?? "not known").replaceAll("_", " ")] as [string, ReactNode]]
      : []),
    [
      "Dead letters",
      dlq_topic ? (
        <DeadLetters
          key="d"
          topic={dlq_topic}
          promise={dead_letters}
          records={connector.has_figures && !isQuery(connector) ? undefined : deadLettersOf(connector, true)}
        />
      ) : (
        <span key="n" className="t3">
          none are written
        </span>
      ),
    ],
    ...(lost > 0
      ? [
          [
            "Not written",
            <b key="l" className="failed">
              {plural(lost, "dead letter")}
            </b>,
          ] as [string, ReactNode],
        ]
      : []),
  ];
}

function DeadLetters({
  topic,
  promise,
  records,
}: {
  topic: string;
  promise: string | null;
  records?: string | undefined;
}) {
  return (
    <>
      <span className="mono">{records ? <Link to={records}>{topic}</Link> : topic}</span>
      {promise === "durable" && <span className="t3">, durable before the offset is committed</span>}
      {promise === "best_effort" && <span className="warn"> ! best effort: their cluster acknowledges nothing</span>}
    </>
  );
}

function noFigures({ software }: ConnectCluster): string {
  return software === "kafka_connect"
    ? "Kafka Connect reports no record counts, lag or error budgets to the dashboard."
    : "The dashboard has no record counts, lag or error budgets of this cluster.";
}
