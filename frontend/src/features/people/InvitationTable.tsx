import { useInvitations, useRevokeInvitation, type InvitationRow } from "../../api/people";
import { dateMinute } from "../../lib/format";
import { useZone } from "../../lib/zone";
import { LinkButton } from "../../ui/controls";
import { LoadError } from "../../ui/LoadError";
import { Chip, Panel, join } from "../../ui/Panel";
import tables from "../../ui/tables.module.css";
import styles from "./People.module.css";

/** Open invitations, and ended ones. Nothing is shown while there are none. */
export function InvitationTable({ enabled }: { enabled: boolean }) {
  const { data, error, refetch } = useInvitations(enabled);
  const revoke = useRevokeInvitation();
  if (error && !data)
    return (
      <Panel title="Invitations" label="Invitations">
        <LoadError title="The invitations cannot be loaded" error={error} onAgain={() => void refetch()} />
      </Panel>
    );
  if (!data?.results.length) return null;
  return (
    <Panel title="Invitations" label="Invitations">
      {revoke.isError && (
        <p className={join("s failed", styles.strip)} role="alert">
          {revoke.error.message}
        </p>
      )}
      <table className={join(tables.compact, tables.cards, styles.invitations)}>
        <thead>
          <tr>
            <th>For</th>
            <th>Team</th>
            <th>Roles</th>
            <th>By</th>
            <th>State</th>
            <th>Expires</th>
            <th>
              <span className="sr">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {data.results.map((row) => (
            <Row key={row.id} row={row} onRevoke={() => revoke.mutate(row.id)} />
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

function Row({ row, onRevoke }: { row: InvitationRow; onRevoke: () => void }) {
  const { zone } = useZone();
  return (
    <tr className={join(row.state !== "open" && styles.inactive)}>
      <td className={styles.name}>
        <b>{row.name}</b>
      </td>
      <td>{row.resets ? "a new password" : (row.team ?? "all teams")}</td>
      <td>{row.roles.join(", ")}</td>
      <td data-label="by">{row.inviter ?? "a deleted account"}</td>
      <td>
        <Chip tone={row.state === "open" ? "passed" : "plain"}>{row.state}</Chip>
      </td>
      <td className="nw" data-label="until">
        {dateMinute(row.expires_at, zone)}
      </td>
      <td className={styles.menu}>
        {row.state === "open" && (
          <LinkButton onClick={onRevoke}>
            Revoke<span className="sr"> the invitation of {row.name}</span>
          </LinkButton>
        )}
      </td>
    </tr>
  );
}
