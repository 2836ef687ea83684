import { Checkbox, NumberInput, TextInput } from "@mantine/core";
import { useState } from "react";
import { useInvite, type CreatedInvitation, type Team } from "../../api/people";
import { dateMinute } from "../../lib/format";
import { useZone } from "../../lib/zone";
import controls from "../../ui/controls.module.css";
import { CopyField } from "../../ui/CopyField";
import { ConfirmDialog } from "../../ui/Dialog";
import { OnceDialog } from "../../ui/OnceDialog";
import styles from "./People.module.css";
import { ROLES } from "./roles";

const MAX_DAYS = 14;

/** Asks whom to invite with which roles, then shows the link once. */
export function InviteDialog({ team, onClose }: { team: Team | null; onClose: () => void }) {
  const invite = useInvite();
  const [name, setName] = useState("");
  const [roles, setRoles] = useState<string[]>(["viewer"]);
  const [days, setDays] = useState(7);
  if (invite.data) return <LinkDialog made={invite.data} onClose={onClose} />;
  return (
    <ConfirmDialog
      open
      title={team ? `Invite into ${team.name}` : "Invite with roles on everything"}
      confirmLabel="Create the link"
      barred={
        name.trim() === ""
          ? "Enter an e-mail address or a name first"
          : roles.length === 0
            ? "Choose a role"
            : undefined
      }
      busy={invite.isPending}
      error={invite.error?.message ?? null}
      onClose={onClose}
      onConfirm={() => invite.mutate({ name: name.trim(), team: team?.id ?? null, roles, days })}
    >
      <div className={styles.fields}>
        <TextInput
          label="E-mail address or name"
          description="The person chooses the user name when the link is opened."
          value={name}
          maxLength={254}
          onChange={(event) => setName(event.currentTarget.value)}
          data-autofocus
          autoComplete="off"
          classNames={{ label: controls.label!, input: controls.input! }}
        />
        <Checkbox.Group label="Roles" value={roles} onChange={setRoles} classNames={{ label: controls.label! }}>
          <div className={styles.options}>
            {ROLES.map(({ role, label, may }) => (
              <Checkbox
                key={role}
                size="xs"
                value={role}
                label={label}
                description={may}
                classNames={{ label: styles.roleLabel!, description: styles.roleText! }}
              />
            ))}
          </div>
        </Checkbox.Group>
        <NumberInput
          label={`Days until the link expires, at most ${MAX_DAYS}`}
          value={days}
          min={1}
          max={MAX_DAYS}
          clampBehavior="strict"
          allowDecimal={false}
          onChange={(next) => setDays(Math.max(1, Number(next) || 1))}
          hideControls
          classNames={{ label: controls.label!, input: controls.input! }}
        />
      </div>
    </ConfirmDialog>
  );
}

/** Shows a new link, which the server shows only once. */
export function LinkDialog({ made, onClose }: { made: CreatedInvitation; onClose: () => void }) {
  const { zone } = useZone();
  return (
    <OnceDialog
      title={made.resets ? `A password link for ${made.name}` : `An invitation for ${made.name}`}
      warning="Copy the link now and send it yourself. It is not shown again."
      onClose={onClose}
    >
      <CopyField text={made.link} label="link" />
      <p className="s t3">It works once, until {dateMinute(made.expires_at, zone)}.</p>
    </OnceDialog>
  );
}
