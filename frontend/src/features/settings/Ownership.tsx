import { useOwnershipRules } from "../../api/ownership";
import { useMayNotAdminister } from "../../api/session";
import { LoadError } from "../../ui/LoadError";
import { PageHead, Panel, SkeletonRows } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import styles from "./Clusters.module.css";
import { IssueTrackers } from "./IssueTrackers";
import { OwnershipRules } from "./OwnershipRules";
import { SettingsTabs } from "./SettingsTabs";

/** The settings page of ownership: rules about the owners of new groups, and issue trackers. */
export function Ownership() {
  const { data, error, refetch } = useOwnershipRules();
  const barred = useMayNotAdminister();
  useTitle("Ownership");
  return (
    <>
      <PageHead
        title="Ownership"
        note="Rules give new groups an owner: a team or a person. Groups that exist keep the owners that they have."
      />
      <SettingsTabs />
      <div className={styles.list}>
        {data ? (
          <OwnershipRules saved={data.rules} barred={barred} />
        ) : (
          <Panel>
            {error ? (
              <LoadError title="The rules could not be loaded" error={error} onAgain={() => void refetch()} />
            ) : (
              <SkeletonRows rows={5} />
            )}
          </Panel>
        )}
        <IssueTrackers barred={barred} />
      </div>
    </>
  );
}
