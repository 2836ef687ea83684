import { useMemo, useState } from "react";
import { difference, type Row } from "../../lib/difference";
import { plural } from "../../lib/format";
import { LinkButton } from "../../ui/controls";
import { join } from "../../ui/Panel";
import styles from "./Fix.module.css";

const CONTEXT = 2;
const SIGN = { same: "", gone: "−", new: "+" };

/** What differs, line by line; long runs of unchanged lines are folded. */
export default function DifferenceView({ original, edited, hex }: { original: string; edited: string; hex: boolean }) {
  const { rows, places, kept } = useMemo(() => difference(original, edited), [original, edited]);
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  return (
    <>
      <header className={styles.paneHead}>
        <b>Difference</b>
        <span className="s t3">{places === 0 ? "none" : hex ? `${plural(places, "line")} of hex` : `${plural(places, "line")}; ${plural(kept, "other byte")} identical`}</span>
      </header>
      <div className={styles.difference} data-testid="difference">
      {folded(rows).map((run) =>
        run.folded && !open.has(run.at) ? (
          <div key={run.at} className={styles.fold}><LinkButton onClick={() => setOpen(new Set(open).add(run.at))}>⋯ {plural(run.rows.length, "line")}, unchanged</LinkButton></div>
        ) : (
          run.rows.map((row, index) => <Line key={run.at + index} row={row} />)
        ),
      )}
      </div>
    </>
  );
}

function Line({ row }: { row: Row }) {
  return (
    <div className={join(styles.diffLine, row.kind !== "same" && styles[row.kind])}>
      <i aria-label={row.kind === "gone" ? "taken away" : row.kind === "new" ? "added" : undefined}>{SIGN[row.kind]}</i>
      <span>
        {" ".repeat(row.depth)}
        {row.pieces.map((piece, index) => (piece.marked ? <b key={index}>{piece.text}</b> : piece.text.replace(/\n$/, "")))}
      </span>
    </div>
  );
}

function folded(rows: readonly Row[]): { at: number; folded: boolean; rows: Row[] }[] {
  const near = rows.map((_, at) => rows.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some((row) => row.kind !== "same"));
  const runs: { at: number; folded: boolean; rows: Row[] }[] = [];
  rows.forEach((row, at) => {
    const last = runs.at(-1);
    if (last && last.folded === !near[at]) last.rows.push(row);
    else runs.push({ at, folded: !near[at], rows: [row] });
  });
  return runs.map((run) => (run.folded && run.rows.length < 3 ? { ...run, folded: false } : run));
}
