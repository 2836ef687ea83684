import { useState } from "react";
import { useClusters } from "../../api/clusters";
import { useMayNotAdminister } from "../../api/session";
import { plural } from "../../lib/format";
import { Button } from "../../ui/controls";
import { LoadError } from "../../ui/LoadError";
import { RefreshError } from "../../ui/RefreshError";
import { SkeletonRows, PageHead, Panel } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import { ClusterDialog, type ClusterQuestion } from "./ClusterDialog";
import { ClusterPanel } from "./ClusterPanel";
import styles from "./Clusters.module.css";
import { IndexPanel } from "./IndexPanel";
import { SettingsTabs } from "./SettingsTabs";

/** The settings page: Kafka clusters, their connections, and the progress of the index. */
export function Clusters() {
  const [chosen, setChosen] = useState("");
  const { data, error, dataUpdatedAt, isError, refetch } = useClusters(true, chosen);
  if (isError && chosen) setChosen(""); // somebody may have removed the chosen cluster
  const barred = useMayNotAdminister();
  const [question, setQuestion] = useState<ClusterQuestion | null>(null);
  const others = (data?.results.length ?? 1) - 1;
  useTitle("Clusters");
  return (
    <>
      <PageHead
        title="Clusters"
        note={
          data
            ? `How the dashboard connects to Kafka${others > 0 ? ` and to ${plural(others, "other cluster")}` : ""}, without secrets.`
            : " "
        }
      >
        <Button barred={barred} onClick={() => setQuestion({ cluster: null, act: "edit" })}>
          Add cluster…
        </Button>
      </PageHead>
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
            <ClusterPanel key={one.name} cluster={one} isMarked={others > 0} onAsk={setQuestion} />
          ))}
        {data && (
          <IndexPanel
            index={data.index}
            clusters={data.results
              .filter((one) => one.own || (one.is_enabled && one.dead_letter_topics.length > 0))
              .map((one) => one.name)}
            onCluster={(name) => setChosen(data.results.some((one) => one.own && one.name === name) ? "" : name)}
          />
        )}
        {data?.results
          .filter((one) => !one.own)
          .map((one) => (
            // The result of a connection test is of the settings that were tested.
            <ClusterPanel key={`${one.name} ${one.at}`} cluster={one} isMarked onAsk={setQuestion} />
          ))}
      </div>
      {question && data && (
        <ClusterDialog
          question={question}
          secrets={data.secrets}
          colours={data.colours}
          onClose={() => setQuestion(null)}
        />
      )}
    </>
  );
}
