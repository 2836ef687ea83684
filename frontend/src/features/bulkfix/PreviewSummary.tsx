import type { BulkPreview, PreviewWarning } from "../../api/bulkFixes";
import type { Path } from "../../lib/fieldPaths";
import { bytes, count, percent, took } from "../../lib/format";
import { Button } from "../../ui/controls";
import { Glyph, join } from "../../ui/Panel";
import styles from "./PreviewSummary.module.css";

/** Warnings about a program, then its counts. */
export function PreviewSummary({
  preview,
  many,
  old,
  onReplacePath,
}: {
  preview: BulkPreview;
  many: number;
  /** The program has changed since. */
  old: boolean;
  onReplacePath: (from: Path, to: Path) => void;
}) {
  const { counts, counted_all: all } = preview;
  const figures = [
    { name: "matched", value: counts.matched, className: undefined },
    { name: "changed", value: counts.changed, className: "passed" },
    { name: "untouched", value: counts.untouched, className: undefined },
    { name: "invalid", value: counts.invalid, className: counts.invalid > 0 ? "failed" : undefined },
  ];
  return (
    <div aria-busy={old} className={old ? styles.old : undefined}>
      {preview.warnings.length > 0 && (
        <ul className={styles.warnings} aria-label="Warnings">
          {preview.warnings.map((warning) => (
            <Warning key={`${warning.code} ${warning.path?.pointer}`} warning={warning} onReplacePath={onReplacePath} />
          ))}
        </ul>
      )}
      <div className={styles.counts} role="status" data-testid="preview-counts">
        <dl>
          {figures.map(({ name, value, className }) => (
            <div key={name} data-testid={`preview-${name}`}>
              <dd className={className}>{count(value)}</dd>
              <dt>{name}</dt>
            </div>
          ))}
        </dl>
        <span className="sp" />
        <div className={join("s t3", styles.extent)}>
          <div>
            {all
              ? `All ${count(counts.matched)} records checked in ${took(preview.took_ms)}: the counts are exact`
              : `Only the first ${count(counts.matched)} of ${count(many)} records are counted`}
          </div>
          <div>
            Values: {bytes(preview.bytes_before)} before, {bytes(preview.bytes_after)} after
          </div>
          {preview.nulls
            .filter(({ column }) => column !== null)
            .map(({ path, records, null_before: before, null_after: after }) => (
              <div key={path.pointer}>
                <code>{path.name}</code> null or missing: {percent(before, records, 0)} →{" "}
                <b className={after < before ? "passed" : undefined}>{percent(after, records, 0)}</b>
              </div>
            ))}
        </div>
      </div>
    </div>
  );
}

function Warning({
  warning: { text, path, use },
  onReplacePath,
}: {
  warning: PreviewWarning;
  onReplacePath: (from: Path, to: Path) => void;
}) {
  return (
    <li data-testid="preview-warning">
      <Glyph tone="warn">!</Glyph>
      <span>
        <span className="sr">Warning: </span>
        {text}
      </span>
      <span className="sp" />
      {path !== null &&
        use.map((one) => (
          <Button key={one.pointer} small onClick={() => onReplacePath(path, one)}>
            Use {one.jq}
          </Button>
        ))}
    </li>
  );
}
