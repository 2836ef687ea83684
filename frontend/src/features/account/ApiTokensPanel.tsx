import { useState } from "react";
import type { Session } from "../../api/types";
import { useRevokeToken, useTokens, type ApiToken } from "../../api/account";
import { ago, dateMinute } from "../../lib/format";
import { useNow, useZone } from "../../lib/zone";
import { LoadError } from "../../ui/LoadError";
import { Button, LinkButton } from "../../ui/controls";
import { ConfirmDialog } from "../../ui/Dialog";
import { RefreshError } from "../../ui/RefreshError";
import { SkeletonRows, Chip, Notice, Panel, join } from "../../ui/Panel";
import tables from "../../ui/tables.module.css";
import styles from "./Account.module.css";
import { CreateTokenDialog } from "./CreateTokenDialog";
import { tokenState } from "./labels";

/** The user's own API tokens, with buttons to create and revoke them; or those of everybody, to revoke them. */
export function ApiTokensPanel({
  rights = [],
  teams = [],
  everybody = false,
}: {
  rights?: string[];
  teams?: Session["teams"];
  everybody?: boolean;
}) {
  const list = useTokens(everybody);
  const revoke = useRevokeToken();
  const [creating, setCreating] = useState(false);
  const [chosen, setChosen] = useState<ApiToken>();
  const results = list.data?.results ?? [];
  const rows = [...results.filter(isActive), ...results.filter((token) => !isActive(token))];
  const barred =
    rights.length === 0 ? "Needs the role viewer" : list.data ? undefined : "The tokens are not loaded yet";
  const close = () => {
    setChosen(undefined);
    revoke.reset();
  };
  return (
    <Panel
      title={everybody ? "API tokens of everybody" : "API tokens"}
      label={everybody ? "API tokens of everybody" : "API tokens"}
      aside={
        !everybody && (
          <Button barred={barred} onClick={() => setCreating(true)}>
            Create a token…
          </Button>
        )
      }
    >
      {list.isPending && <SkeletonRows rows={3} height={34} />}
      {list.isError && !list.data && (
        <LoadError title="The tokens cannot be loaded" error={list.error} onAgain={() => void list.refetch()} />
      )}
      {list.isError && list.data && (
        <RefreshError error={list.error} at={list.dataUpdatedAt} onAgain={() => void list.refetch()} />
      )}
      {list.data && rows.length === 0 && (
        <Notice title={everybody ? "Nobody has an API token" : "You have no API token"}>
          A token lets a program, such as the command line or Prometheus, act as you. Give it only the rights that the
          program needs.
        </Notice>
      )}
      {rows.length > 0 && (
        <table className={join(tables.compact, tables.cards, styles.tokens)}>
          <thead>
            <tr>
              <th>Name</th>
              {everybody && <th>Owner</th>}
              <th>Rights</th>
              <th>Team</th>
              <th>State</th>
              <th>Created</th>
              <th>Expires</th>
              <th>Last used</th>
              <th>
                <span className="sr">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((token) => (
              <TokenRow key={token.id} token={token} hasOwner={everybody} onRevoke={() => setChosen(token)} />
            ))}
          </tbody>
        </table>
      )}
      {creating && list.data && (
        <CreateTokenDialog
          rights={rights}
          teams={teams}
          days={list.data.default_days}
          maxDays={list.data.max_days}
          onClose={() => setCreating(false)}
        />
      )}
      {chosen && (
        <ConfirmDialog
          open
          danger
          title={`Revoke ${chosen.name}?`}
          confirmLabel="Revoke the token"
          cancelLabel="Keep it"
          busy={revoke.isPending}
          error={revoke.error?.message ?? null}
          onClose={close}
          onConfirm={() => revoke.mutate(chosen.id, { onSuccess: close })}
        >
          Programs that use it are refused at once. A revoked token cannot be restored.
        </ConfirmDialog>
      )}
    </Panel>
  );
}

function isActive(token: ApiToken): boolean {
  return token.state === "active";
}

function TokenRow({ token, hasOwner, onRevoke }: { token: ApiToken; hasOwner: boolean; onRevoke: () => void }) {
  const { zone } = useZone();
  const now = useNow(10_000);
  const { label, glyph, tone } = tokenState(token.state);
  const active = isActive(token);
  return (
    <tr data-testid="token" className={active ? undefined : styles.inactive}>
      <td className={styles.name}>
        <b>{token.name}</b>
      </td>
      {hasOwner && <td data-label="Owner">{token.owner}</td>}
      <td data-label="Rights">{token.scopes.join(", ") || "none"}</td>
      <td data-label="Team" className={token.team ? undefined : "t3"}>
        {token.team ?? "all teams"}
      </td>
      <td className={styles.state}>
        <Chip tone={tone}>
          <span aria-hidden="true">{glyph}</span>
          {label}
        </Chip>
      </td>
      <td data-label="Created" className="nw">
        {dateMinute(token.created_at, zone)}
      </td>
      <td data-label="Expires" className="nw">
        {dateMinute(token.expires_at, zone)}
      </td>
      <td
        data-label="Last used"
        className="nw"
        title={token.last_used_at ? dateMinute(token.last_used_at, zone) : undefined}
      >
        {ago(token.last_used_at, now)}
      </td>
      <td className={styles.actions}>
        {active && (
          <LinkButton onClick={onRevoke}>
            Revoke<span className="sr"> {token.name}</span>
          </LinkButton>
        )}
      </td>
    </tr>
  );
}
