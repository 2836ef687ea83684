import { useState, type ReactNode } from "react";
import { useSearchParams } from "react-router";
import { useHolders, useTeams, type Holder, type Team } from "../../api/people";
import { useMayNotAdminister, useSession } from "../../api/session";
import { Button } from "../../ui/controls";
import { LoadError } from "../../ui/LoadError";
import { MenuButton } from "../../ui/MenuButton";
import { Notice, PageHead, Panel, SkeletonRows, join } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import { ApiTokensPanel } from "../account/ApiTokensPanel";
import { SettingsTabs } from "../settings/SettingsTabs";
import {
  ActiveDialog,
  AddHolderDialog,
  AddPersonDialog,
  DeleteGroupDialog,
  GroupDialog,
  PasswordLinkDialog,
} from "./HolderDialogs";
import { HolderTable, type HolderAction } from "./HolderTable";
import { InvitationTable } from "./InvitationTable";
import { InviteDialog } from "./InviteDialog";
import styles from "./People.module.css";
import { DeleteTeamDialog, TeamDialog } from "./TeamDialog";
import { TeamTable } from "./TeamTable";
import { ownedText } from "./roles";

type Ask = (dialog: ReactNode) => void;
const EVERYBODY = "everybody";

/** The settings page of people and teams: who has which roles on what. */
export function People() {
  const { data, error, refetch } = useTeams();
  const { data: session } = useSession();
  const barred = useMayNotAdminister();
  const [params, setParams] = useSearchParams();
  const [dialog, setDialog] = useState<ReactNode>(null);
  useTitle("People and teams");
  const teams = data?.results ?? [];
  const asked = params.get("team");
  const team = asked === EVERYBODY ? null : (teams.find(({ id }) => `${id}` === asked) ?? teams[0] ?? null);
  const close = () => setDialog(null);
  const canInvite = !barred || teams.some((one) => one.may_change_people);
  return (
    <>
      <PageHead
        title="People and teams"
        note="A team owns topics and connectors. Its people have roles on these alone."
      />
      <SettingsTabs />
      {!data && (
        <Panel>
          {error ? (
            <LoadError title="The teams could not be loaded" error={error} onAgain={() => void refetch()} />
          ) : (
            <SkeletonRows rows={6} />
          )}
        </Panel>
      )}
      {data && (
        <div className={styles.columns}>
          <TeamTable
            teams={teams}
            chosen={team?.id ?? null}
            barred={barred}
            onChoose={(id) => setParams({ team: id === null ? EVERYBODY : `${id}` }, { replace: true })}
            onAdd={() => setDialog(<TeamDialog team={null} onClose={close} />)}
            onAssign={(topic) =>
              setDialog(<TeamDialog key={topic} team={team ?? teams[0]!} topic={topic} onClose={close} />)
            }
          />
          <HoldersPanel
            key={team?.id ?? EVERYBODY}
            team={team}
            me={session?.username ?? null}
            barred={barred}
            ask={setDialog}
          />
        </div>
      )}
      <div className={styles.stack}>
        <InvitationTable enabled={canInvite} />
        {session?.administrator && <ApiTokensPanel everybody />}
      </div>
      {dialog}
    </>
  );
}

function HoldersPanel({
  team,
  me,
  barred,
  ask,
}: {
  team: Team | null;
  me: string | null;
  /** The reason why the reader is no administrator. */
  barred: string | undefined;
  ask: Ask;
}) {
  const { data, error, refetch } = useHolders(team?.id ?? null);
  const holders = data?.results ?? [];
  const close = () => ask(null);
  const noRoles = team ? (team.may_change_people ? undefined : `Needs the role admin in ${team.name}`) : barred;
  const act = (action: HolderAction, holder: Holder) => ask(holderDialog(action, holder, close));
  return (
    <Panel
      label={team?.name ?? "Everybody"}
      title={
        <>
          <h2>{team?.name ?? "Everybody"}</h2>
          <span className={join("s t3", styles.owned)}>
            {team ? ownedText(team) : "roles on all topics and connectors"}
          </span>
        </>
      }
      aside={
        <>
          {team && !barred && (
            <MenuButton
              label="Change…"
              items={[
                {
                  label: "Name, topics and connectors…",
                  onClick: () => ask(<TeamDialog team={team} onClose={close} />),
                },
                {
                  label: "Add a known person or group…",
                  onClick: () => ask(<AddHolderDialog team={team} present={holders} onClose={close} />),
                },
                { label: "Delete the team…", onClick: () => ask(<DeleteTeamDialog team={team} onClose={close} />) },
              ]}
            />
          )}
          {!team && (
            <Button barred={barred} onClick={() => ask(<GroupDialog group={null} onClose={close} />)}>
              Add a group…
            </Button>
          )}
          {team && (
            <Button barred={noRoles} onClick={() => ask(<AddPersonDialog team={team} onClose={close} />)}>
              Add a person…
            </Button>
          )}
          <Button barred={noRoles} onClick={() => ask(<InviteDialog team={team} onClose={close} />)}>
            Invite by link…
          </Button>
        </>
      }
    >
      {!data && error && (
        <LoadError title="The people could not be loaded" error={error} onAgain={() => void refetch()} />
      )}
      {!data && !error && <SkeletonRows rows={5} />}
      {data && holders.length === 0 && (
        <Notice title={team ? "Nobody is in this team yet" : "There is nobody to show"}>
          {team && "Add a person, invite one by link, or let an administrator add a group."}
        </Notice>
      )}
      {holders.length > 0 && (
        <HolderTable
          holders={holders}
          team={team?.id ?? null}
          me={me}
          barred={noRoles}
          onAct={barred ? undefined : act}
        />
      )}
      {data?.more && <p className={join("s t3", styles.strip)}>There are more people than this list shows.</p>}
    </Panel>
  );
}

function holderDialog(action: HolderAction, holder: Holder, close: () => void): ReactNode {
  if (action === "group") return <GroupDialog group={holder} onClose={close} />;
  if (action === "delete") return <DeleteGroupDialog group={holder} onClose={close} />;
  if (action === "password") return <PasswordLinkDialog person={holder} onClose={close} />;
  return <ActiveDialog person={holder} onClose={close} />;
}
