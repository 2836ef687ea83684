import { TextInput } from "@mantine/core";
import { useState, type KeyboardEvent } from "react";
import { useAssignees } from "../../api/ownership";
import { LoadError } from "../../ui/LoadError";
import { Dialog } from "../../ui/Dialog";
import { OwnerLabel } from "../../ui/OwnerLabel";
import { SkeletonRows, join } from "../../ui/Panel";
import controls from "../../ui/controls.module.css";
import styles from "./Groups.module.css";

interface Assignment {
  username: string | null;
  team: string | null;
}

interface Props {
  /** The groups, for the title: "this group", "3 groups". */
  subject: string;
  busy: boolean;
  error: string | null;
  onClose: () => void;
  onAssign: (assignment: Assignment) => void;
}

const NOBODY: Assignment = { username: null, team: null };

/** A dialog that assigns groups to a team, a person or nobody, from a list that can be searched. */
export function AssignDialog({ subject, busy, error, onClose, onAssign }: Props) {
  const { data, error: loadError, refetch } = useAssignees();
  const [search, setSearch] = useState("");
  const [active, setActive] = useState(0);
  const wanted = search.trim().toLowerCase();
  const options = [
    NOBODY,
    ...(data?.teams.map((team) => ({ username: null, team })) ?? []),
    ...(data?.people.map((username) => ({ username, team: null })) ?? []),
  ].filter((option) => nameOf(option).toLowerCase().includes(wanted));
  const current = Math.min(active, options.length - 1);
  const move = (event: KeyboardEvent, to: number) => {
    event.preventDefault();
    const next = Math.max(0, Math.min(options.length - 1, to));
    setActive(next);
    document.getElementById(optionId(next))?.scrollIntoView?.({ block: "nearest" });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") move(event, current + 1);
    else if (event.key === "ArrowUp") move(event, current - 1);
    else if (event.key === "Enter") {
      event.preventDefault();
      if (options[current] && !busy) onAssign(options[current]);
    }
  };
  return (
    <Dialog open title={`Assign ${subject}`} onClose={onClose}>
      <div className={controls.dialogBody}>
        <TextInput
          aria-label="Team or person"
          placeholder="Team or person"
          role="combobox"
          aria-expanded
          aria-controls="assignees"
          aria-activedescendant={options[current] && optionId(current)}
          autoComplete="off"
          data-autofocus
          value={search}
          onChange={(event) => (setSearch(event.currentTarget.value), setActive(0))}
          onKeyDown={onKeyDown}
          classNames={{ input: controls.input! }}
        />
        {!data && !loadError && <SkeletonRows rows={4} />}
        {loadError && (
          <LoadError title="The list could not be loaded" error={loadError} onAgain={() => void refetch()} />
        )}
        {data && (
          <div className={styles.assignees} role="listbox" id="assignees" aria-label="Teams and people">
            {options.map((option, index) => (
              <div
                key={`${option.team ? "team" : "person"} ${nameOf(option)}`}
                id={optionId(index)}
                role="option"
                aria-selected={index === current}
                className={join(styles.assignee, index === current && styles.activeAssignee)}
                onClick={() => !busy && onAssign(option)}
              >
                {option === NOBODY ? "Nobody" : <OwnerLabel owner={option.username} team={option.team} />}
              </div>
            ))}
            {options.length === 0 && <p className="s t3">No team and no person has this in its name.</p>}
          </div>
        )}
        {error && (
          <div className="failed s" role="alert">
            {error}
          </div>
        )}
      </div>
    </Dialog>
  );
}

function nameOf({ team, username }: Assignment): string {
  return team ?? username ?? "Nobody";
}

function optionId(index: number): string {
  return `assignee-${index}`;
}
