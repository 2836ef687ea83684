import type { Replay } from "../../api/replayTypes";
import { count } from "../../lib/format";
import { reasonRows } from "../../lib/outcome";
import { itemState, reasonWords } from "../../lib/states";
import { Glyph, Notice, Panel } from "../../ui/Panel";
import tables from "../../ui/tables.module.css";

/** The outcomes by reason, with the meaning of each reason. */
export function EvidencePanel({ replay }: { replay: Replay }) {
  const rows = reasonRows(replay.counts, replay.reasons);
  return (
    <Panel
      title={
        <>
          <h2>Evidence by outcome</h2>
          <span className="s t3">an unknown outcome is not a pass</span>
        </>
      }
    >
      {rows.length === 0 ? (
        <Notice title="No outcomes yet" />
      ) : (
        <div className={tables.scroll}>
          <table className={tables.compact}>
            <thead>
              <tr>
                <th>Outcome</th>
                <th className="num">Records</th>
                <th>Reason</th>
                <th>Meaning</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => {
                const { label, glyph, tone } = itemState(row.state);
                return (
                  <tr key={`${row.state} ${row.reason}`}>
                    <td className="nw">
                      <span className={`row b ${tone}`}>
                        <Glyph tone={tone}>{glyph}</Glyph>
                        {label}
                      </span>
                    </td>
                    <td className="num">{count(row.count)}</td>
                    <td className="mono nw t2">{row.reason || (row.state === "passed" ? "proven" : "–")}</td>
                    <td className="s t2">
                      {reasonWords(row.state, row.reason)}
                      {row.remedy && <div className="b">{row.remedy}</div>}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}
