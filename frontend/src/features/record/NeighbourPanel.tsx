import { Link } from "react-router";
import { useNeighbours } from "../../api/deadLetters";
import type { DeadLetter, Neighbour } from "../../api/types";
import { count, timeOfDay } from "../../lib/format";
import { useZone } from "../../lib/zone";
import { SkeletonRows, Panel, Strip, join } from "../../ui/Panel";
import { KeyText } from "../../ui/WithheldNotice";
import styles from "./Record.module.css";

/** The records before and after this one in its origin partition. */
export function NeighbourPanel({ letter, address }: { letter: DeadLetter; address: string }) {
  const { data, isPending, isError } = useNeighbours(letter.id);
  if (isError || (data && data.results.length === 0 && !data.not_allowed)) return null;
  return (
    <Panel
      title={
        <>
          <h2>Neighbours</h2>
          {letter.origin_partition !== null && <span className="s t3">origin partition {letter.origin_partition}</span>}
        </>
      }
    >
      {data?.not_allowed && <Strip tone="warn">Not fetched: not allowed. {data.not_allowed}.</Strip>}
      {isPending ? (
        <SkeletonRows rows={5} height={14} />
      ) : (
        <table className={styles.neighbours}>
          <tbody>
            {data?.results.map((one) => (
              <NeighbourRow key={one.offset} one={one} address={address} />
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}

function NeighbourRow({ one, address }: { one: Neighbour; address: string }) {
  const { zone } = useZone();
  const label = (
    <span className={one.state === "passed" ? "passed" : one.state === "failed" ? "failed" : "t3"}>
      {one.state === "passed" ? "✓" : one.state === "failed" ? "✕" : "?"} {one.this ? "this record" : one.label}
    </span>
  );
  return (
    <tr className={one.this ? styles.currentRow : undefined}>
      <td className="mono">{count(one.offset)}</td>
      <td className="mono cut" title={one.key_text ?? undefined}>
        <KeyText of={one} />
      </td>
      <td className="mono t3">{one.at ? timeOfDay(one.at, zone) : ""}</td>
      <td className={join("s cut", one.this && "b")} title={one.label}>
        {one.id && !one.this ? <Link to={`/records/${one.id}?${address}`}>{label}</Link> : label}
      </td>
    </tr>
  );
}
