import type { ReactNode } from "react";
import { Link } from "react-router";
import type { Connector } from "../../api/types";
import { recordsWith } from "../../lib/filter";
import { count, plural } from "../../lib/format";
import { ALL_TIME } from "../../lib/ranges";
import { shortClass } from "../../lib/stages";
import { Chip, Facts, Panel } from "../../ui/Panel";
import { ConnectorActions } from "./ConnectorActions";
import styles from "./Connectors.module.css";
import { MetricTable } from "./MetricTable";
import { StageBars, hasFailed } from "./StageBars";
import { ConnectorStateChip } from "./StateChip";
import { TaskTable } from "./TaskTable";

export function ConnectorPanel({
  connector,
  reachable,
  open,
}: {
  connector: Connector;
  reachable: boolean;
  open: boolean;
}) {
  const { name, config, kind } = connector;
  const plugin = shortClass(config["connector.class"]);
  return (
    <Panel
      label={name}
      title={
        <>
          <h2>
            <Link to={`/connectors/${name}`}>{name}</Link>
          </h2>
          <ConnectorStateChip shown={connector.shown} />
          <Chip>{kind}</Chip>
          {plugin !== kind && <span className="s t3">{plugin}</span>}
        </>
      }
      aside={<ConnectorActions connector={connector} reachable={reachable} />}
    >
      <Figures connector={connector} />
      <TaskTable connector={connector} reachable={reachable} />
      {connector.stages.some(hasFailed) ? (
        <div className={styles.about}>
          <section>
            <h3>Failures by stage</h3>
            <StageBars connector={connector} />
          </section>
          <section>
            <h3>Delivery guarantees</h3>
            <Promises connector={connector} />
          </section>
        </div>
      ) : (
        <div className={styles.about}>
          <section>
            <Promises connector={connector} />
          </section>
          <section className="s t3">
            {connector.stages.length === 0
              ? "No task has reported its stages yet."
              : `No failures at any of its ${plural(connector.stages.length, "stage")}.`}
          </section>
        </div>
      )}
      <details className={styles.fold} open={open}>
        <summary>Every metric by task, and the configuration with secrets masked</summary>
        <div className={styles.inside}>
          <div>
            <h3>Metrics</h3>
            <MetricTable connector={connector} />
          </div>
          <div>
            <h3>Configuration</h3>
            <Facts
              rows={Object.entries(config)
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
const DROPPED: [string, string] = ["dropped-records-total", "dropped"];

function Figures({ connector }: { connector: Connector }) {
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
                <Link to={recordsWith("connector", connector.name, ALL_TIME)} className="failed">
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

function Promises({ connector }: { connector: Connector }) {
  const { topics, delivery, dlq_topic, dead_letters, metrics } = connector;
  const lost = metrics["deadletterqueue-produce-failures"] ?? 0;
  return (
    <Facts
      rows={[
        [
          connector.kind === "source" ? "Writes" : "Reads",
          <span key="t" className="mono">
            {topics.join(", ") || "no topic yet"}
          </span>,
        ],
        ["Delivery", (delivery ?? "not known").replaceAll("_", " ")],
        [
          "Dead letters",
          dlq_topic ? (
            <DeadLetters key="d" topic={dlq_topic} promise={dead_letters} />
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
      ]}
    />
  );
}

function DeadLetters({ topic, promise }: { topic: string; promise: string | null }) {
  return (
    <>
      <span className="mono">{topic}</span>
      {promise === "durable" && <span className="t3">, durable before the offset is committed</span>}
      {promise === "best_effort" && <span className="warn"> ! best effort: their cluster acknowledges nothing</span>}
    </>
  );
}
