import { useFixVersions, type FixProgram } from "../../api/bulkFixes";
import { count, dateTime } from "../../lib/format";
import { useZone } from "../../lib/zone";
import { LinkButton } from "../../ui/controls";
import { Chip } from "../../ui/Panel";
import { KINDS } from "./kinds";
import styles from "./Programs.module.css";

/** The programs that were previewed for this selection, the latest first. */
export function ProgramHistory({
  selection,
  enabled,
  program,
  onUse,
}: {
  selection: number;
  enabled: boolean;
  /** The program on the screen, which needs no "Use". */
  program: string;
  onUse: (version: FixProgram) => void;
}) {
  const { zone } = useZone();
  const { data, error } = useFixVersions(selection, enabled);
  const versions = data?.results ?? [];
  if (error) return <p className="s failed">{error.message}</p>;
  if (versions.length === 0) return null;
  return (
    <details className={styles.history}>
      <summary className="s">
        <b>History</b> <span className="t3">{count(versions.length)}</span>
      </summary>
      <ol className={styles.versions}>
        {versions.map((version) => (
          <li key={version.id} data-testid="version">
            <span className={styles.text} title={version.program}>
              {version.program}
            </span>
            <span className="s t3">
              <Chip>{KINDS[version.kind]}</Chip> {resultOf(version)} {version.author ?? "somebody"},{" "}
              {dateTime(version.created_at, zone)}{" "}
              {version.program !== program && <LinkButton onClick={() => onUse(version)}>Use</LinkButton>}
            </span>
          </li>
        ))}
      </ol>
    </details>
  );
}

function resultOf({ counts, counted_all: all }: FixProgram): string {
  if (!counts) return "";
  const { changed, untouched, invalid } = counts;
  return `${all ? "" : "At least "}${count(changed)} changed, ${count(untouched)} untouched, ${count(invalid)} invalid.`;
}
