import { Avatar } from "./Panel";
import styles from "./Panel.module.css";

/** The owner of a group: a team with its glyph, a person, or nobody. */
export function OwnerLabel({ owner, team }: { owner: string | null; team: string | null }) {
  if (team)
    return (
      <span className="row s" style={{ gap: 6, flexWrap: "nowrap" }} title={`Team ${team}`}>
        <TeamGlyph />
        <span className="sr">Team </span>
        {team}
      </span>
    );
  if (owner)
    return (
      <span className="row s" style={{ gap: 6, flexWrap: "nowrap" }}>
        <Avatar name={owner} />
        {owner}
      </span>
    );
  return <span className="s t3">none</span>;
}

/** The sign of a team: a square with two people. */
export function TeamGlyph() {
  return (
    <span className={styles.team} aria-hidden="true">
      <svg width="14" height="14" viewBox="0 0 16 16" fill="none" stroke="currentColor" strokeWidth="1.4">
        <path d="M6 7.5a2.3 2.3 0 1 0 0-4.6 2.3 2.3 0 0 0 0 4.6ZM1.8 13c0-2.2 1.9-3.6 4.2-3.6s4.2 1.4 4.2 3.6M10.6 3.2a2.1 2.1 0 0 1 0 4M12 9.8c1.4.5 2.3 1.6 2.3 3.2" />
      </svg>
    </span>
  );
}
