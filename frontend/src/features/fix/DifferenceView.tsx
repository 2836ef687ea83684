import { useMemo, useState } from "react";
import { difference, keptIn, type Difference, type Row } from "../../lib/difference";
import { plural } from "../../lib/format";
import { LinkButton } from "../../ui/controls";
import { join } from "../../ui/Panel";
import { WrappingText } from "../../ui/WrappingText";
import styles from "./Fix.module.css";

const CONTEXT = 2;
const SIGN = { same: "", gone: "−", new: "+" };

/** The difference by lines, or by changed ranges if the text has no structure. Long unchanged runs are folded. */
export default function DifferenceView({ original, edited, hex }: { original: string; edited: string; hex: boolean }) {
  const { rows, by, places, kept } = useMemo(() => difference(original, edited), [original, edited]);
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  return (
    <>
      <header className={styles.paneHead}>
        <b>Difference</b>
        <span className="s t3">
          {places === 0
            ? "none"
            : hex
              ? `${plural(places, "line")} of hex`
              : `${plural(places, by === "line" ? "line" : "change")}; ${plural(kept, "other byte")} identical`}
        </span>
      </header>
      <div className={styles.difference} data-testid="difference">
        {foldRuns(rows, by).map((run) =>
          run.folded && !open.has(run.at) ? (
            <div key={run.at} className={styles.fold}>
              <LinkButton onClick={() => setOpen(new Set(open).add(run.at))}>
                ⋯{" "}
                {by === "line"
                  ? plural(run.rows.length, "line")
                  : plural(
                      run.rows.reduce((sum, row) => sum + keptIn(row), 0),
                      "byte",
                    )}
                , unchanged
              </LinkButton>
            </div>
          ) : (
            run.rows.map((row, index) => <DifferenceRow key={run.at + index} row={row} />)
          ),
        )}
      </div>
    </>
  );
}

function DifferenceRow({ row }: { row: Row }) {
  return (
    <div className={join(styles.diffLine, row.kind !== "same" && styles[row.kind])}>
      <i aria-label={row.kind === "gone" ? "removed" : row.kind === "new" ? "added" : undefined}>{SIGN[row.kind]}</i>
      <span>
        {" ".repeat(row.depth)}
        {row.pieces.map(({ text, marked }, index) =>
          marked ? (
            <b key={index}>
              <WrappingText text={text} />
            </b>
          ) : (
            <WrappingText key={index} text={index === row.pieces.length - 1 ? text.replace(/\n$/, "") : text} />
          ),
        )}
      </span>
    </div>
  );
}

/** Group the rows into runs that are shown or folded. */
function foldRuns(rows: readonly Row[], by: Difference["by"]): { at: number; folded: boolean; rows: Row[] }[] {
  const context = by === "line" ? CONTEXT : 0; // a range already has its context
  const near = rows.map((_, at) =>
    rows.slice(Math.max(0, at - context), at + context + 1).some((row) => row.kind !== "same"),
  );
  const runs: { at: number; folded: boolean; rows: Row[] }[] = [];
  rows.forEach((row, at) => {
    const last = runs.at(-1);
    if (last && last.folded === !near[at]) last.rows.push(row);
    else runs.push({ at, folded: !near[at], rows: [row] });
  });
  return runs.map((run) => (run.folded && by === "line" && run.rows.length < 3 ? { ...run, folded: false } : run));
}
