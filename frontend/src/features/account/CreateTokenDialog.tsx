import { Checkbox, NativeSelect, NumberInput, TextInput } from "@mantine/core";
import { useState } from "react";
import { useCreateToken, type CreatedToken } from "../../api/account";
import type { Session } from "../../api/types";
import { dateMinute, plural } from "../../lib/format";
import { useZone } from "../../lib/zone";
import { ConfirmDialog } from "../../ui/Dialog";
import controls from "../../ui/controls.module.css";
import { CopyField } from "../../ui/CopyField";
import { OnceDialog } from "../../ui/OnceDialog";
import styles from "./Account.module.css";
import { rightDescription } from "./labels";

interface Props {
  /** The user's rights. A token can have no others. */
  rights: string[];
  /** The user's teams. A token can be limited to one of them. */
  teams: Session["teams"];
  days: number;
  maxDays: number;
  onClose: () => void;
}

/** Create a token from a name, rights and an expiry, then show its secret once. */
export function CreateTokenDialog({ rights, teams, days: defaultDays, maxDays, onClose }: Props) {
  const create = useCreateToken();
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState(rights.slice(0, 1));
  const [team, setTeam] = useState<number | null>(null);
  const [days, setDays] = useState(defaultDays);
  if (create.data) return <CreatedTokenDialog token={create.data} onClose={onClose} />;
  const barred =
    name.trim() === "" ? "Name the token first" : scopes.length === 0 ? "Choose at least one right" : undefined;
  return (
    <ConfirmDialog
      open
      title="Create an API token"
      confirmLabel="Create the token"
      barred={barred}
      busy={create.isPending}
      error={create.error?.message ?? null}
      onClose={onClose}
      onConfirm={() => create.mutate({ name: name.trim(), scopes, days, team })}
    >
      <div className={styles.fields}>
        <TextInput
          label="Name"
          placeholder="The program that uses it, such as prometheus"
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          data-autofocus
          autoComplete="off"
          classNames={{ label: controls.label!, input: controls.input! }}
        />
        <Checkbox.Group label="Rights" value={scopes} onChange={setScopes} classNames={{ label: controls.label! }}>
          <div className={styles.options}>
            {rights.map((right) => (
              <Checkbox
                key={right}
                size="xs"
                value={right}
                label={right}
                description={rightDescription(right)}
                classNames={{ label: styles.rightLabel!, description: styles.description! }}
              />
            ))}
          </div>
        </Checkbox.Group>
        {teams.length > 0 && (
          <NativeSelect
            label="Team"
            value={team ?? ""}
            data={[
              { value: "", label: "All teams that you reach" },
              ...teams.map(({ id, name: label }) => ({ value: `${id}`, label })),
            ]}
            onChange={(event) => setTeam(event.currentTarget.value ? Number(event.currentTarget.value) : null)}
            classNames={{ label: controls.label!, input: controls.input! }}
          />
        )}
        <NumberInput
          label={`Days until it expires, at most ${maxDays}`}
          value={days}
          min={1}
          max={maxDays}
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

function CreatedTokenDialog({ token, onClose }: { token: CreatedToken; onClose: () => void }) {
  const { zone } = useZone();
  return (
    <OnceDialog title={`The token ${token.name}`} warning="Copy it now. It is not shown again." onClose={onClose}>
      <CopyField text={token.secret} label="API token" />
      <p className="s t3">
        {plural(token.scopes.length, "right")}: {token.scopes.join(", ")}. It expires on{" "}
        {dateMinute(token.expires_at, zone)}. Programs send it as <code className="mono">Authorization: Bearer …</code>
      </p>
    </OnceDialog>
  );
}
