import { roleName, useSession } from "../../api/session";
import { Avatar, Facts, PageHead, Panel } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import styles from "./Account.module.css";
import { ApiTokensPanel } from "./ApiTokensPanel";
import { rightDescription } from "./labels";
import { PasswordForm } from "./PasswordForm";
import { TwoFactorPanel } from "./TwoFactorPanel";

/** The profile screen: the signed-in user's rights, password and API tokens. */
export function Profile() {
  const { data: session } = useSession();
  useTitle("Profile");
  if (!session) return null;
  const name = session.username ?? "";
  const rights = session.rights ?? [];
  return (
    <>
      <PageHead title="Profile" note="Your rights, your sign-in and your API tokens." />
      <div className={styles.columns}>
        <Panel title="Account" label="Account">
          <div className={styles.body}>
            <div className="row" style={{ gap: 10 }}>
              <Avatar name={name} me size={32} />
              <b>{name}</b>
            </div>
            <Facts
              rows={[
                ["Role", roleName(session)],
                ...(session.teams ?? []).map(({ name: team, roles }): [string, string] => [team, roles.join(", ")]),
                [
                  "Cluster",
                  `${session.cluster}, ${session.environment.toLowerCase()}${session.read_only ? ", read-only" : ""}`,
                ],
              ]}
            />
            <div>
              <h3 className={styles.sectionTitle}>Rights</h3>
              {rights.length === 0 && (
                <p className="s t3">None. An administrator, or an admin of a team, gives you roles.</p>
              )}
              <ul className={styles.rights}>
                {rights.map((right) => (
                  <li key={right}>
                    <b>{right}</b> <span className="t2">{rightDescription(right)}</span>
                  </li>
                ))}
              </ul>
            </div>
          </div>
        </Panel>
        {session.has_password && (
          <div className={styles.stack}>
            <Panel title="Password" label="Password">
              <PasswordForm username={name} />
            </Panel>
            <TwoFactorPanel />
          </div>
        )}
      </div>
      <ApiTokensPanel rights={rights} teams={session.teams ?? []} />
    </>
  );
}
