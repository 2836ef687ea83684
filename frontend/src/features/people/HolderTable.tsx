import { Checkbox } from "@mantine/core";
import { useChangeRoles, type Holder } from "../../api/people";
import { ago } from "../../lib/format";
import { useNow } from "../../lib/zone";
import { MenuButton } from "../../ui/MenuButton";
import { Avatar, Chip, Strip, join } from "../../ui/Panel";
import tables from "../../ui/tables.module.css";
import styles from "./People.module.css";
import { ROLES, origin, toggled } from "./roles";

/** What the reader can do with a person or a group beside changing roles. */
export type HolderAction = "active" | "password" | "group" | "delete";

/** People and groups with a tick for each role. A tick is saved at once. */
export function HolderTable({
  holders,
  team,
  me,
  barred,
  onAct,
}: {
  holders: readonly Holder[];
  team: number | null;
  me: string | null;
  /** The reason why the reader cannot change roles. */
  barred: string | undefined;
  /** Missing if the reader cannot change accounts and groups. */
  onAct: ((action: HolderAction, holder: Holder) => void) | undefined;
}) {
  const change = useChangeRoles();
  const now = useNow(30_000);
  return (
    <>
      {change.isError && (
        <div className={styles.strip}>
          <Strip tone="failed">{change.error.message}</Strip>
        </div>
      )}
      <table className={join(tables.compact, tables.cards, styles.holders)}>
        <thead>
          <tr>
            <th>Person or group</th>
            {!barred && <th>From</th>}
            {ROLES.map(({ role, label, may }) => (
              <th key={role} className={styles.tick} title={may}>
                {label}
              </th>
            ))}
            {!barred && <th className="num">Last seen</th>}
            {onAct && (
              <th>
                <span className="sr">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {holders.map((holder) => (
            <tr
              key={`${holder.kind} ${holder.id}`}
              data-testid="holder"
              className={join(!holder.active && styles.inactive)}
            >
              <td className={styles.holder}>
                <span className="row" style={{ gap: 8 }}>
                  <Avatar name={holder.name} me={holder.name === me} />
                  <span className={styles.name}>{holder.name}</span>
                  {!holder.active && <Chip>deactivated</Chip>}
                </span>
                {team === null && holder.teams.length > 0 && (
                  <div className={join("s t3", styles.inTeams)}>
                    {holder.teams.map(({ name, roles }) => `${name}: ${roles.join(", ")}`).join("; ")}
                  </div>
                )}
              </td>
              {!barred && <td className={join("s t3", styles.from)}>{origin(holder)}</td>}
              {ROLES.map(({ role, label }) => {
                const given = holder.roles.includes(role);
                const included = !given && holder.included.includes(role);
                const reason =
                  barred ?? holder.barred ?? (included ? "Included in another role" : noAdmin(holder, team, role));
                return (
                  <td key={role} className={styles.tick} data-label={label} title={reason ?? undefined}>
                    <Checkbox
                      size="xs"
                      className={styles.box}
                      aria-label={`${holder.name}: ${label}${reason ? `. ${reason}` : ""}`}
                      checked={given || included}
                      disabled={reason !== null}
                      data-given={given}
                      // A disabled checkbox would lose the focus while its change is saved.
                      aria-disabled={change.isPending}
                      onChange={() => {
                        if (!change.isPending) change.mutate({ holder, team, roles: toggled(holder, role) });
                      }}
                    />
                  </td>
                );
              })}
              {!barred && (
                <td className={join("num s t2", styles.seen)} data-label="Last seen">
                  {holder.kind === "group" ? "" : ago(holder.last_seen, now)}
                </td>
              )}
              {onAct && (
                <td className={styles.menu}>
                  <MenuButton
                    small
                    label={
                      <>
                        <span aria-hidden="true">⋯</span>
                        <span className="sr">Actions for {holder.name}</span>
                      </>
                    }
                    items={actions(holder, onAct)}
                  />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
      <div className={styles.foot}>
        <Checkbox
          size="xs"
          checked
          readOnly
          tabIndex={-1}
          aria-hidden="true"
          data-given="true"
          className={styles.box}
        />
        given
        <Checkbox size="xs" checked disabled aria-hidden="true" className={styles.box} />
        included in another role
        <span className="sp" />
        Viewers see counts and errors, not values.
      </div>
    </>
  );
}

/** Return why a group cannot be an administrator of everything. */
function noAdmin(holder: Holder, team: number | null, role: string): string | null {
  return team === null && role === "admin" && holder.kind === "group" ? "Only people can be administrators" : null;
}

function actions(holder: Holder, onAct: (action: HolderAction, holder: Holder) => void) {
  const item = (label: string, action: HolderAction) => ({ label, onClick: () => onAct(action, holder) });
  if (holder.kind === "group") return [item("Change the group…", "group"), item("Delete the group…", "delete")];
  return [
    ...(holder.active ? [item("Create a link to set a password…", "password")] : []),
    item(holder.active ? "Deactivate…" : "Activate…", "active"),
  ];
}
