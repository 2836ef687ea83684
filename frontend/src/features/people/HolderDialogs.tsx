import { NativeSelect, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import {
  useAddPerson,
  useChangeRoles,
  useDeleteGroup,
  useHolders,
  usePasswordLink,
  useSaveGroup,
  useSetActive,
  type Holder,
  type Team,
} from "../../api/people";
import controls from "../../ui/controls.module.css";
import { ConfirmDialog } from "../../ui/Dialog";
import { LinkDialog } from "./InviteDialog";
import styles from "./People.module.css";
import { ROLES, patterns } from "./roles";

/** Asks which known person or group gets a first role in a team. */
export function AddHolderDialog({
  team,
  present,
  onClose,
}: {
  team: Team;
  present: readonly Holder[];
  onClose: () => void;
}) {
  const { data } = useHolders(null);
  const change = useChangeRoles();
  const [chosen, setChosen] = useState("");
  const [role, setRole] = useState<string>("viewer");
  const key = (one: Holder) => `${one.kind} ${one.id}`;
  const known = new Set(present.map(key));
  const others = (data?.results ?? []).filter((one) => !known.has(key(one)));
  const holder = others.find((one) => key(one) === chosen);
  return (
    <ConfirmDialog
      open
      title={`Add to ${team.name}`}
      confirmLabel="Add"
      barred={holder ? undefined : "Choose a person or a group first"}
      busy={change.isPending}
      error={change.error?.message ?? null}
      onClose={onClose}
      onConfirm={() =>
        holder &&
        change.mutate({ holder: { ...holder, roles: [] }, team: team.id, roles: [role] }, { onSuccess: onClose })
      }
    >
      <div className={styles.fields}>
        <NativeSelect
          label="Person or group"
          value={chosen}
          data={[
            { value: "", label: "" },
            ...others.map((one) => ({
              value: key(one),
              label: one.kind === "group" ? `${one.name} (group)` : one.name,
            })),
          ]}
          onChange={(event) => setChosen(event.currentTarget.value)}
          data-autofocus
          classNames={{ label: controls.label!, input: controls.input! }}
        />
        <RoleSelect value={role} onChange={setRole} />
      </div>
    </ConfirmDialog>
  );
}

/** Asks for the user name or e-mail address of a person who gets a first role in a team. It lists nobody. */
export function AddPersonDialog({ team, onClose }: { team: Team; onClose: () => void }) {
  const add = useAddPerson(team.id);
  const [name, setName] = useState("");
  const [role, setRole] = useState<string>("viewer");
  return (
    <ConfirmDialog
      open
      title={`Add a person to ${team.name}`}
      confirmLabel="Add"
      barred={name.trim() === "" ? "Enter a user name or an e-mail address first" : undefined}
      busy={add.isPending}
      error={add.error?.message ?? null}
      onClose={onClose}
      onConfirm={() => add.mutate({ name: name.trim(), roles: [role] }, { onSuccess: onClose })}
    >
      <div className={styles.fields}>
        <TextInput
          label="User name or e-mail address"
          description="Exactly as in the account. Invite people without an account by link."
          value={name}
          maxLength={254}
          onChange={(event) => setName(event.currentTarget.value)}
          data-autofocus
          autoComplete="off"
          spellCheck={false}
          classNames={{ label: controls.label!, input: controls.input! }}
        />
        <RoleSelect value={role} onChange={setRole} />
      </div>
    </ConfirmDialog>
  );
}

function RoleSelect({ value, onChange }: { value: string; onChange: (role: string) => void }) {
  return (
    <NativeSelect
      label="Role"
      value={value}
      data={ROLES.map(({ role, label }) => ({ value: role, label }))}
      onChange={(event) => onChange(event.currentTarget.value)}
      classNames={{ label: controls.label!, input: controls.input! }}
    />
  );
}

/** Asks for the name and the people of a sign-in group. */
export function GroupDialog({ group, onClose }: { group: Holder | null; onClose: () => void }) {
  const save = useSaveGroup();
  const [name, setName] = useState(group?.name ?? "");
  const [members, setMembers] = useState((group?.members ?? []).join("\n"));
  return (
    <ConfirmDialog
      open
      title={group ? `Change ${group.name}` : "Add a sign-in group"}
      confirmLabel={group ? "Save" : "Add the group"}
      barred={name.trim() === "" ? "Name the group first" : undefined}
      busy={save.isPending}
      error={save.error?.message ?? null}
      onClose={onClose}
      onConfirm={() =>
        save.mutate({ known: group, name: name.trim(), members: patterns(members) }, { onSuccess: onClose })
      }
    >
      <div className={styles.fields}>
        <TextInput
          label="Name"
          value={name}
          maxLength={150}
          onChange={(event) => setName(event.currentTarget.value)}
          data-autofocus
          autoComplete="off"
          classNames={{ label: controls.label!, input: controls.input! }}
        />
        <Textarea
          label="People, one user name per line"
          rows={6}
          value={members}
          onChange={(event) => setMembers(event.currentTarget.value)}
          classNames={{ label: controls.label!, input: styles.area! }}
        />
      </div>
    </ConfirmDialog>
  );
}

export function DeleteGroupDialog({ group, onClose }: { group: Holder; onClose: () => void }) {
  const remove = useDeleteGroup();
  return (
    <ConfirmDialog
      open
      danger
      title={`Delete the group ${group.name}?`}
      confirmLabel="Delete the group"
      busy={remove.isPending}
      error={remove.error?.message ?? null}
      onClose={onClose}
      onConfirm={() => remove.mutate(group.id, { onSuccess: onClose })}
    >
      Its people lose the roles of the group at once. Their accounts stay.
    </ConfirmDialog>
  );
}

/** Asks whether to deactivate an account, or to activate it again. */
export function ActiveDialog({ person, onClose }: { person: Holder; onClose: () => void }) {
  const change = useSetActive();
  return (
    <ConfirmDialog
      open
      danger={person.active}
      title={person.active ? `Deactivate ${person.name}?` : `Activate ${person.name} again?`}
      confirmLabel={person.active ? "Deactivate" : "Activate"}
      busy={change.isPending}
      error={change.error?.message ?? null}
      onClose={onClose}
      onConfirm={() => change.mutate({ id: person.id, active: !person.active }, { onSuccess: onClose })}
    >
      {person.active
        ? "The sessions and API tokens of this person end at once. Roles and the audit trail stay."
        : "The person can sign in again, with the same roles. Ended API tokens stay ended."}
    </ConfirmDialog>
  );
}

/** Creates a link by which a person sets a new password, and shows it once. */
export function PasswordLinkDialog({ person, onClose }: { person: Holder; onClose: () => void }) {
  const create = usePasswordLink();
  if (create.data) return <LinkDialog made={create.data} onClose={onClose} />;
  return (
    <ConfirmDialog
      open
      title={`A password link for ${person.name}`}
      confirmLabel="Create the link"
      busy={create.isPending}
      error={create.error?.message ?? null}
      onClose={onClose}
      onConfirm={() => create.mutate(person.id)}
    >
      The link works once, for one day. The present password works until the link is used.
    </ConfirmDialog>
  );
}
