/** Addresses and names of connectors. Two Connect clusters may have a connector of the same name. */

import { recordsOf, recordsWith } from "./filter";
import { ALL_TIME } from "./ranges";

/** The cluster of ENGINE_URL. Its connectors need no cluster before their names. */
const ENGINE = "engine";

/** The guarded Spark queries are listed like the connectors of a cluster of this name. */
export const SPARK = "spark";

export interface ConnectorKey {
  cluster: string;
  name: string;
}

/** Return the address of a connector's page. */
export function connectorPage({ cluster, name }: ConnectorKey): string {
  return `/connectors/${encodeURIComponent(cluster)}/${encodeURIComponent(name)}`;
}

/** Return the address of the connectors of this name, in whichever cluster they are. */
export function pageOfName(name: string): string {
  return `/connectors/${encodeURIComponent(name)}`;
}

/** Return the name of a connector in texts: "orders", or "legacy/orders" of another cluster. */
export function connectorLabel({ cluster, name }: ConnectorKey): string {
  return cluster === ENGINE ? name : `${cluster}/${name}`;
}

/** Return the name of a cluster at the beginning of a line. */
export function clusterName(cluster: string): string {
  return cluster === ENGINE ? "Engine" : cluster;
}

/** Return the subject of a sentence about a cluster. */
export function clusterTitle(cluster: string): string {
  return cluster === ENGINE ? "The engine" : `The Connect cluster ${cluster}`;
}

/** Return whether it is a guarded Spark query. Nobody can control it here. */
export function isQuery({ cluster }: { cluster: string }): boolean {
  return cluster === SPARK;
}

/** Return the name under which the API has the figures of a connector or query. */
export function reporterName({ cluster, name }: ConnectorKey): string {
  return cluster === SPARK ? `${SPARK}/${name}` : name;
}

/** Return the name of a task in texts: "orders-0", or "spark/orders" of a query, which is its own only task. */
export function taskLabel(key: ConnectorKey, task: number): string {
  return isQuery(key) ? connectorLabel(key) : `${connectorLabel(key)}-${task}`;
}

/** Return the connectors of an address: all of this name, or the one of this name in the cluster. */
export function connectorsAt<T extends ConnectorKey>(rows: readonly T[], name: string, cluster?: string): T[] {
  return rows.filter((one) => one.name === name && (cluster === undefined || one.cluster === cluster));
}

/** Return the address of a connector's records. If several have its name, its topic tells them apart. */
export function deadLettersOf({ name, dlq_topic }: ConnectorKey & { dlq_topic: string | null }, isNameShared: boolean) {
  return isNameShared && dlq_topic
    ? recordsOf({ connector: name, topic: dlq_topic }, ALL_TIME)
    : recordsWith("connector", name, ALL_TIME);
}
