import { useClusters } from "../../api/clusters";
import { plural } from "../../lib/format";
import { LoadError } from "../../ui/LoadError";
import { RefreshError } from "../../ui/RefreshError";
import { SkeletonRows, PageHead, Panel } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import { ClusterPanel } from "./ClusterPanel";
import styles from "./Clusters.module.css";
import { IndexPanel } from "./IndexPanel";
import { SettingsTabs } from "./SettingsTabs";

/** The settings page: Kafka clusters, their connections, and the progress of the index. */
export function Clusters() {
  const { data, error, dataUpdatedAt, isError, refetch } = useClusters();
  const others = (data?.results.length ?? 1) - 1;
  useTitle("Clusters");
  return (
    <>
      <PageHead
        title="Clusters"
        note={
          data
            ? `How the dashboard connects to Kafka${others > 0 ? `, and to ${plural(others, "other cluster")} that replays may write to` : ""}: set by its environment, shown without secrets.`
            : " "
        }
      />
      <SettingsTabs />
      {isError && data && <RefreshError error={error} at={dataUpdatedAt} onAgain={() => void refetch()} />}
      {!data && (
        <Panel>
          {error ? (
            <LoadError title="The clusters could not be loaded" error={error} onAgain={() => void refetch()} />
          ) : (
            <SkeletonRows rows={8} />
          )}
        </Panel>
      )}
      <div className={styles.list}>
        {data?.results
          .filter((one) => one.own)
          .map((one) => (
            <ClusterPanel key={one.name} cluster={one} />
          ))}
        {data && <IndexPanel index={data.index} />}
        {data?.results
          .filter((one) => !one.own)
          .map((one) => (
            <ClusterPanel key={one.name} cluster={one} />
          ))}
      </div>
    </>
  );
}
