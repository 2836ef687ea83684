import { Fragment } from "react";
import { Navigate, useNavigate, useParams } from "react-router";
import { useConnectors } from "../../api/connectors";
import { useMayEdit } from "../../api/session";
import type { ConnectCluster, Connector, ConnectorList } from "../../api/types";
import {
  SPARK,
  clusterTitle,
  connectorLabel,
  connectorPage,
  connectorsAt,
  isQuery,
  reporterName,
} from "../../lib/connectors";
import { ago, plural } from "../../lib/format";
import { useNow } from "../../lib/zone";
import { Button } from "../../ui/controls";
import { SkeletonRows, Notice, PageHead, Panel, Strip } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import { ConnectorCharts } from "./ConnectorCharts";
import { ConnectorDetails, ConnectorPanel } from "./ConnectorPanel";
import styles from "./Connectors.module.css";
import { Nearest } from "./Nearest";

/** What every connector and task is doing, and how far each is from its limit. */
export function Connectors() {
  const { cluster, name } = useParams();
  const { data, error, dataUpdatedAt, isError } = useConnectors();
  const now = useNow(5_000);
  useTitle("Connectors");
  const moved = data && cluster && name === "edit" ? formerEditor(data, cluster) : undefined;
  if (moved) return <Navigate to={moved} replace />;
  return (
    <>
      {name === undefined ? (
        <PageHead title="Connectors" note={data ? noteOf(data, ago(new Date(dataUpdatedAt).toISOString(), now)) : " "}>
          <NewConnector clusters={data ? connectClusters(data) : undefined} />
        </PageHead>
      ) : (
        <ConnectorHead name={name} cluster={cluster} software={clusterOf(data, cluster)} />
      )}
      {data && isError && (
        <Strip tone="warn">The dashboard does not respond. The connectors below are those of its last response.</Strip>
      )}
      {!data && (
        <Panel>
          {error ? (
            <Notice title="The connectors could not be loaded">{error.message}</Notice>
          ) : (
            <SkeletonRows rows={8} />
          )}
        </Panel>
      )}
      {data &&
        (name === undefined ? (
          <AllConnectors list={data} now={now} />
        ) : (
          <ConnectorsOfName list={data} shown={connectorsAt(data.results, name, cluster)} now={now} />
        ))}
    </>
  );
}

/** The connectors in lists by cluster; a Connect cluster has a heading only if there are several. */
function AllConnectors({ list, now }: { list: ConnectorList; now: number }) {
  const isOne = connectClusters(list).length === 1;
  return (
    <div className={styles.list}>
      {list.results.length > 0 && <Nearest tasks={list.nearest} connectors={list.results} />}
      {list.clusters.length === 0 && (
        <Panel>
          <Notice title="No Connect cluster">
            Dead letters are indexed and replayed without one. The settings ENGINE_URL and CONNECT_CLUSTERS name some.
          </Notice>
        </Panel>
      )}
      {list.clusters.map((cluster) => {
        const rows = list.results.filter((one) => one.cluster === cluster.name);
        const body = (
          <>
            <ClusterTrouble cluster={cluster} now={now} />
            {rows.length === 0 && <NoConnectors cluster={cluster} />}
            {rows.map((one) => (
              <ConnectorPanel
                key={connectorLabel(one)}
                connector={one}
                cluster={cluster}
                namesake={namesakeOf(one, list)}
                isNameShared={connectorsAt(list.results, one.name).length > 1}
                isFolded
              />
            ))}
          </>
        );
        if (cluster.name === SPARK)
          return (
            <section key={cluster.name} className={styles.list} aria-label="Spark queries">
              <div className={styles.cluster}>
                <h2>Spark queries</h2>
                <span className="s t3">
                  {plural(rows.length, "guarded query", "guarded queries")}. The programs that run them start and stop
                  them.
                </span>
              </div>
              {body}
            </section>
          );
        return isOne ? (
          <Fragment key={cluster.name}>{body}</Fragment>
        ) : (
          <section key={cluster.name} className={styles.list} aria-label={`Connect cluster ${cluster.name}`}>
            <div className={styles.cluster}>
              <h2>{cluster.name}</h2>
              <span className="s t3">{[softwareWords(cluster), plural(rows.length, "connector")].join(", ")}</span>
            </div>
            {body}
          </section>
        );
      })}
    </div>
  );
}

/** One connector with its details, or those that share the name of an address without a cluster. */
function ConnectorsOfName({ list, shown, now }: { list: ConnectorList; shown: readonly Connector[]; now: number }) {
  if (shown.length === 0)
    return (
      <Panel>
        <Notice title="There is no such connector">It may have been deleted.</Notice>
      </Panel>
    );
  const one = shown.length === 1 ? shown[0]! : undefined;
  return (
    <div className={styles.list}>
      {!one && (
        <Strip tone="plain">
          {shown.some(isQuery)
            ? "A connector and a Spark query have this name. Choose one."
            : `${shown.length} Connect clusters have a connector of this name. Choose one.`}
        </Strip>
      )}
      {shown.map((connector) => {
        const cluster = clusterOf(list, connector.cluster)!;
        return (
          <div key={connector.cluster} className={styles.list}>
            <ClusterTrouble cluster={cluster} now={now} />
            <ConnectorPanel
              connector={connector}
              cluster={cluster}
              namesake={namesakeOf(connector, list)}
              isNameShared={connectorsAt(list.results, connector.name).length > 1}
              isClusterShown={connectClusters(list).length > 1 && !isQuery(connector)}
            />
          </div>
        );
      })}
      {one?.has_figures && <ConnectorCharts key={reporterName(one)} name={reporterName(one)} />}
      {one && (
        <Panel label={detailsTitle(one)} title={<h2>{detailsTitle(one)}</h2>}>
          <ConnectorDetails connector={one} />
        </Panel>
      )}
    </div>
  );
}

function ConnectorHead({
  name,
  cluster,
  software,
}: {
  name: string;
  cluster: string | undefined;
  software: ConnectCluster | undefined;
}) {
  const navigate = useNavigate();
  const of = cluster === SPARK ? "Guarded Spark query." : undefined;
  const note = of ?? (cluster && software ? `Connect cluster ${cluster}, ${softwareWords(software)}.` : " ");
  return (
    <PageHead title={name} note={note}>
      <Button onClick={() => void navigate("/connectors")}>All connectors</Button>
    </PageHead>
  );
}

/** The sentence about a cluster that is away, in the place of its connectors' fresh states. */
function ClusterTrouble({ cluster, now }: { cluster: ConnectCluster; now: number }) {
  if (cluster.reachable) return null;
  const known = cluster.as_of ? ` Its connectors are shown as it last reported them, ${ago(cluster.as_of, now)}.` : "";
  return (
    <Strip tone="warn">
      {cluster.trouble}
      {known} Changes are possible again when it responds.
    </Strip>
  );
}

function NoConnectors({ cluster }: { cluster: ConnectCluster }) {
  if (!cluster.reachable && cluster.as_of === null) return null; // nobody knows whether it has any
  return (
    <Panel>
      <Notice title="No connectors">
        {cluster.software === "kafka_connect"
          ? "Create one here, or with Kafka Connect's REST API."
          : "Create one here, or give one to the engine: python -m engine run worker.properties --connector sink.properties"}
      </Notice>
    </Panel>
  );
}

/** The button. `clusters` is undefined until they are known. */
function NewConnector({ clusters }: { clusters: ConnectCluster[] | undefined }) {
  const may = useMayEdit();
  const isReachable = clusters?.some((one) => one.reachable);
  const away = clusters?.length === 0 ? "No Connect cluster is configured" : "No Connect cluster responds";
  const barred = !may.allowed ? may.reason : isReachable ? undefined : away;
  return barred ? <Button barred={barred}>New connector…</Button> : <Button to="/new-connector">New connector…</Button>;
}

function noteOf(list: ConnectorList, when: string): string {
  const clusters = connectClusters(list);
  if (list.clusters.length === 0) return " ";
  const connectors = list.results.filter((one) => !isQuery(one));
  const queries = list.results.length - connectors.length;
  const tasks = connectors.reduce((sum, connector) => sum + connector.tasks.length, 0);
  const whom = clusters.length === 1 ? clusterTitle(clusters[0]!.name).replace(/^The/, "the") : "the clusters";
  const counts = [plural(connectors.length, "connector"), plural(tasks, "task")];
  if (clusters.length > 1) counts.unshift(plural(clusters.length, "Connect cluster"));
  if (queries > 0) counts.push(plural(queries, "Spark query", "Spark queries"));
  return `${counts.join(", ")}. Asked ${whom} ${when}.`;
}

function connectClusters({ clusters }: ConnectorList): ConnectCluster[] {
  return clusters.filter((one) => one.name !== SPARK);
}

/** Return "Kafka Connect 4.1.1", or what else is known of a cluster's software. */
function softwareWords({ software, version }: ConnectCluster): string {
  if (software === null) return "software not known yet";
  return [software === "kafka_connect" ? "Kafka Connect" : "dlqadmin engine", version].filter(Boolean).join(" ");
}

/** Return another sink of the same name. Both use the same consumer group, unless their options name others. */
function namesakeOf(connector: Connector, { results }: ConnectorList): Connector | undefined {
  const isSink = ({ type, config }: Connector) => type === "sink" && !config["consumer.override.group.id"];
  return results.find(
    (one) => one.name === connector.name && one.cluster !== connector.cluster && isSink(one) && isSink(connector),
  );
}

/** Return the page that `/connectors/NAME/edit` meant before addresses had a cluster. */
function formerEditor({ clusters, results }: ConnectorList, name: string): string | undefined {
  if (clusters.some((one) => one.name === name)) return undefined;
  const found = connectorsAt(results, name);
  return found.length === 1 ? `${connectorPage(found[0]!)}/edit` : `/connectors/${encodeURIComponent(name)}`;
}

function clusterOf(list: ConnectorList | undefined, name: string | undefined): ConnectCluster | undefined {
  return list?.clusters.find((one) => one.name === name);
}

function detailsTitle({ has_figures, cluster }: Connector): string {
  if (cluster === SPARK) return "Metrics and error options";
  return has_figures ? "Metrics and configuration" : "Configuration";
}
