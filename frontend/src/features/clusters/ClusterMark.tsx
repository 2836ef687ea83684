import { useSession } from "../../api/session";
import type { SessionCluster } from "../../api/types";
import styles from "./ClusterMark.module.css";

/** Return the cluster's colour, for CSS. A cluster without one is grey. */
function colourOf(colour: string): string {
  return `var(--cluster-${colour || "grey"})`;
}

/** Return what marks a cluster; null if there is no other with which it could be confused. "" is the own cluster. */
function useMark(given: string | undefined): SessionCluster | null {
  const { data } = useSession();
  if (given === undefined || !data?.clusters?.length) return null;
  const name = given || data.cluster;
  const isOnly = data.clusters.length === 1 && data.clusters[0]!.name === name;
  if (isOnly) return null;
  // Dead letters outlive their cluster.
  const unknown = { name, environment: "", colour: "", is_read_only: false, is_indexed: false };
  return data.clusters.find((one) => one.name === name) ?? unknown;
}

/** Return whether there are several clusters, so that screens tell them apart. */
export function useHasSeveralClusters(): boolean {
  return (useSession().data?.clusters?.length ?? 0) > 1;
}

/** The colour, name and environment of a cluster; nothing if there is only one cluster. */
export function ClusterMark({ name }: { name: string | undefined }) {
  const cluster = useMark(name);
  return cluster && <ClusterName cluster={cluster} />;
}

/** The colour, name and environment of a cluster. */
export function ClusterName({ cluster }: { cluster: Pick<SessionCluster, "name" | "environment" | "colour"> }) {
  return (
    <span className={styles.mark} title={`Kafka cluster ${cluster.name}`}>
      <i className={styles.dot} style={{ background: colourOf(cluster.colour) }} aria-hidden="true" />
      <span className={styles.name}>
        <span className="sr">Cluster </span>
        {cluster.name}
      </span>
      {cluster.environment && <span className={styles.environment}>{cluster.environment}</span>}
    </span>
  );
}

/** Names the cluster of a screen above it, in its colour; nothing if there is only one cluster. */
export function ClusterBanner({ name }: { name: string | undefined }) {
  const cluster = useMark(name);
  if (!cluster) return null;
  const colour = colourOf(cluster.colour);
  return (
    <div
      className={styles.banner}
      role="status"
      data-testid="cluster-banner"
      style={{ borderLeftColor: colour, background: `color-mix(in srgb, ${colour} 10%, var(--surface))` }}
    >
      <ClusterName cluster={cluster} />
      {cluster.is_read_only && <b>Read-only: no replay writes to this cluster.</b>}
    </div>
  );
}
