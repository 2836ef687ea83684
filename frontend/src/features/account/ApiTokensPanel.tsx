import { useState } from "react";
import { useRevokeToken, useTokens, type ApiToken } from "../../api/account";
import { ago, dateMinute } from "../../lib/format";
import { useNow, useZone } from "../../lib/zone";
import { LoadError } from "../../ui/LoadError";
import { Button, ConfirmDialog, LinkButton } from "../../ui/controls";
import { RefreshError } from "../../ui/RefreshError";
import { SkeletonRows, Chip, Notice, Panel, join } from "../../ui/Panel";
import tables from "../../ui/tables.module.css";
import styles from "./Account.module.css";
import { CreateTokenDialog } from "./CreateTokenDialog";
import { tokenState } from "./labels";

/** The user's own API tokens, with buttons to create and revoke them. */
export function ApiTokensPanel({ rights }: { rights: string[] }) {
  const list = useTokens();
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
      title="API tokens"
      label="API tokens"
      aside={
        <Button barred={barred} onClick={() => setCreating(true)}>
          Create a token…
        </Button>
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
        <Notice title="You have no API token">
          A token lets a program, such as the command line or Prometheus, act as you. Give it only the rights that the
          program needs.
        </Notice>
      )}
      {rows.length > 0 && (
        <table className={join(tables.compact, tables.cards, styles.tokens)}>
          <thead>
            <tr>
              <th>Name</th>
              <th>Rights</th>
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
              <TokenRow key={token.id} token={token} onRevoke={() => setChosen(token)} />
            ))}
          </tbody>
        </table>
      )}
      {creating && list.data && (
        <CreateTokenDialog
          rights={rights}
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

function TokenRow({ token, onRevoke }: { token: ApiToken; onRevoke: () => void }) {
  const { zone } = useZone();
  const now = useNow(10_000);
  const { label, glyph, tone } = tokenState(token.state);
  const active = isActive(token);
  return (
    <tr data-testid="token" className={active ? undefined : styles.inactive}>
      <td className={styles.name}>
        <b>{token.name}</b>
      </td>
      <td data-label="Rights">{token.scopes.join(", ") || "none"}</td>
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
