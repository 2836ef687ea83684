import { useTeamFacts, type Team } from "../../api/people";
import { count } from "../../lib/format";
import { Button, LinkButton } from "../../ui/controls";
import { Chip, Glyph, Notice, Panel, join } from "../../ui/Panel";
import tables from "../../ui/tables.module.css";
import styles from "./People.module.css";

const SHOWN = 3; // patterns of a cell

/** The teams with what they own; one is chosen, or everybody. */
export function TeamTable({
  teams,
  chosen,
  barred,
  onChoose,
  onAdd,
  onAssign,
}: {
  teams: readonly Team[];
  chosen: number | null;
  /** The reason why the reader cannot add teams. */
  barred: string | undefined;
  onChoose: (team: number | null) => void;
  onAdd: () => void;
  onAssign: (topic: string) => void;
}) {
  const { data: facts } = useTeamFacts();
  const open = new Map(facts?.open.map((row) => [row.team, row.open]));
  const unowned = facts?.unowned ?? [];
  return (
    <Panel
      label="Teams"
      title={
        <>
          <h2>Teams</h2>
          <Chip>{teams.length}</Chip>
        </>
      }
      aside={
        <Button barred={barred} onClick={onAdd}>
          Add a team…
        </Button>
      }
    >
      {teams.length === 0 ? (
        <Notice title="There is no team yet">
          {barred
            ? "An administrator can add one, and name the topics and connectors that it owns."
            : "Add one, and name the topics and connectors that it owns."}{" "}
          Its people see these, and nothing else. Until then, all roles hold for all topics and connectors.
        </Notice>
      ) : (
        <table className={join(tables.compact, styles.teams)}>
          <thead>
            <tr>
              <th>Team</th>
              <th className={styles.patterns}>Owns topics</th>
              <th className={styles.patterns}>Owns connectors</th>
              <th className="num">People</th>
              <th className="num" title="Open dead letters">
                Open
              </th>
            </tr>
          </thead>
          <tbody>
            {teams.map((team) => (
              <tr key={team.id} data-testid="team" className={join(team.id === chosen && styles.chosen)}>
                <td>
                  <button
                    type="button"
                    className={styles.choose}
                    aria-pressed={team.id === chosen}
                    onClick={() => onChoose(team.id)}
                  >
                    {team.name}
                  </button>
                </td>
                <Patterns of={team.topics} />
                <Patterns of={team.connectors} />
                <td className="num">{count(team.people)}</td>
                <td className={join("num", !open.get(team.id) && "t3")}>{count(open.get(team.id))}</td>
              </tr>
            ))}
            <tr className={join(chosen === null && styles.chosen)}>
              <td colSpan={5}>
                <button
                  type="button"
                  className={styles.choose}
                  aria-pressed={chosen === null}
                  onClick={() => onChoose(null)}
                >
                  Everybody
                </button>{" "}
                <span className="s t3">and roles on all topics and connectors</span>
              </td>
            </tr>
          </tbody>
        </table>
      )}
      {unowned.length > 0 && (
        <div className={styles.foot}>
          <Glyph tone="warn">!</Glyph>
          <span>
            {unowned.length === 1
              ? "1 watched topic has no owner"
              : `${count(unowned.length)} watched topics have no owner`}
            :{" "}
            <span className="mono t2">
              {unowned
                .slice(0, SHOWN)
                .map(({ topic }) => topic)
                .join(", ")}
            </span>
            {unowned.length > SHOWN && " …"}
          </span>
          {!barred && teams.length > 0 && <LinkButton onClick={() => onAssign(unowned[0]!.topic)}>Assign…</LinkButton>}
        </div>
      )}
    </Panel>
  );
}

function Patterns({ of }: { of: readonly string[] }) {
  return (
    <td className={join("mono t2", styles.patterns)} title={of.join(", ")}>
      {of.length === 0 && <span className="t3">–</span>}
      {of.slice(0, SHOWN).map((pattern) => (
        <div key={pattern}>{pattern}</div>
      ))}
      {of.length > SHOWN && <div className="t3">and {of.length - SHOWN} more</div>}
    </td>
  );
}
