import { useSession } from "../../api/session";
import { Avatar, Facts, PageHead, Panel } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import styles from "./Account.module.css";
import { PasswordForm } from "./PasswordForm";
import { Tokens } from "./Tokens";
import { rightWords } from "./words";

/** Who is signed in, with the rights, the password and the API tokens of this person. */
export function Profile() {
  const { data: session } = useSession();
  useTitle("Profile");
  if (!session) return null;
  const name = session.username ?? "";
  const rights = session.rights ?? [];
  return (
    <>
      <PageHead title="Profile" note="Your rights, your password and your API tokens." />
      <div className={styles.columns}>
        <Panel title="Account" label="Account">
          <div className={styles.body}>
            <div className="row" style={{ gap: 10 }}>
              <Avatar name={name} me size={32} />
              <b>{name}</b>
            </div>
            <Facts
              rows={[
                ["Role", session.role ?? "none"],
                [
                  "Cluster",
                  `${session.cluster}, ${session.environment.toLowerCase()}${session.read_only ? ", read-only" : ""}`,
                ],
              ]}
            />
            <div>
              <h3 className={styles.subhead}>Rights</h3>
              {rights.length === 0 && (
                <p className="s t3">None. An administrator gives rights by adding you to a group.</p>
              )}
              <ul className={styles.rights}>
                {rights.map((right) => (
                  <li key={right}>
                    <b>{right}</b> <span className="t2">{rightWords(right)}</span>
                  </li>
                ))}
              </ul>
            </div>
          </div>
        </Panel>
        <Panel title="Password" label="Password">
          <PasswordForm username={name} />
        </Panel>
      </div>
      <Tokens rights={rights} />
    </>
  );
}
