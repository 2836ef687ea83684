import { useErasures } from "../../api/erasures";
import { useMayNotAdminister } from "../../api/session";
import { LoadError } from "../../ui/LoadError";
import { Notice, PageHead, Panel, SkeletonRows } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import styles from "./Erase.module.css";
import { EraseForm } from "./EraseForm";
import { ErasureRow } from "./ErasureRow";
import { SettingsTabs } from "./SettingsTabs";

/** The settings page on which an administrator erases the content of dead letters. */
export function Erase() {
  const barred = useMayNotAdminister();
  const { data, error, refetch } = useErasures(barred === undefined);
  useTitle("Erase data");
  return (
    <>
      <PageHead
        title="Erase data"
        note="Erase a person's data from the index, drafts, exports and replays. The rows stay without content, so all numbers still add up."
      />
      <SettingsTabs />
      <div className={styles.list}>
        {barred ? (
          <Panel>
            <Notice title={barred}>Only a superuser who signed in with a password can erase data.</Notice>
          </Panel>
        ) : (
          <>
            <EraseForm />
            <Panel label="Erasures" title={<h2>Erasures</h2>}>
              {!data && !error && <SkeletonRows rows={3} />}
              {!data && error && (
                <LoadError title="The erasures could not be loaded" error={error} onAgain={() => void refetch()} />
              )}
              {data?.results.length === 0 && <Notice title="No erasures yet" />}
              <ul className={styles.erasures}>
                {data?.results.map((one) => (
                  <ErasureRow key={one.id} erasure={one} />
                ))}
              </ul>
            </Panel>
          </>
        )}
      </div>
    </>
  );
}
