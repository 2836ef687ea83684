import { Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { useDeleteTeam, useSaveTeam, type Team } from "../../api/people";
import controls from "../../ui/controls.module.css";
import { ConfirmDialog } from "../../ui/Dialog";
import styles from "./People.module.css";
import { patterns } from "./roles";

/** Asks for a team's name and what it owns. */
export function TeamDialog({ team, topic, onClose }: { team: Team | null; topic?: string; onClose: () => void }) {
  const save = useSaveTeam();
  const [name, setName] = useState(team?.name ?? "");
  const [topics, setTopics] = useState([...(team?.topics ?? []), ...(topic ? [topic] : [])].join("\n"));
  const [connectors, setConnectors] = useState((team?.connectors ?? []).join("\n"));
  const body = { name: name.trim(), topics: patterns(topics), connectors: patterns(connectors) };
  return (
    <ConfirmDialog
      open
      title={team ? `Change ${team.name}` : "Add a team"}
      confirmLabel={team ? "Save" : "Add the team"}
      barred={body.name === "" ? "Name the team first" : undefined}
      busy={save.isPending}
      error={save.error?.message ?? null}
      onClose={onClose}
      onConfirm={() => save.mutate({ known: team, body }, { onSuccess: onClose })}
    >
      <div className={styles.fields}>
        <TextInput
          label="Name"
          value={name}
          maxLength={64}
          onChange={(event) => setName(event.currentTarget.value)}
          data-autofocus
          autoComplete="off"
          classNames={{ label: controls.label!, input: controls.input! }}
        />
        <Textarea
          label="Owns topics, one pattern per line"
          description="* stands for any text. cluster/pattern holds for one cluster."
          placeholder="orders.*"
          rows={4}
          value={topics}
          onChange={(event) => setTopics(event.currentTarget.value)}
          classNames={{ label: controls.label!, input: `mono ${styles.area}` }}
        />
        <Textarea
          label="Owns connectors, one pattern per line"
          placeholder="orders-*"
          rows={3}
          value={connectors}
          onChange={(event) => setConnectors(event.currentTarget.value)}
          classNames={{ label: controls.label!, input: `mono ${styles.area}` }}
        />
      </div>
    </ConfirmDialog>
  );
}

/** Asks whether to delete a team. */
export function DeleteTeamDialog({ team, onClose }: { team: Team; onClose: () => void }) {
  const remove = useDeleteTeam();
  return (
    <ConfirmDialog
      open
      danger
      title={`Delete ${team.name}?`}
      confirmLabel="Delete the team"
      busy={remove.isPending}
      error={remove.error?.message ?? null}
      onClose={onClose}
      onConfirm={() => remove.mutate(team.id, { onSuccess: onClose })}
    >
      Its roles, invitations and API tokens end at once. Its dead letters stay, for people with other roles on them.
    </ConfirmDialog>
  );
}
