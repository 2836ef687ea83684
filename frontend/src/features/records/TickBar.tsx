import { count } from "../../lib/format";
import { LinkButton } from "../../ui/controls";
import { join } from "../../ui/Panel";
import { ReplayButton } from "../plan/ReplayButton";
import styles from "./Records.module.css";
import type { Ticks } from "./useTicks";

/** What is ticked, and what can be done with it; "all that match" goes to the server as the filter, never as ids. */
export function TickBar({ ticks, total, query }: { ticks: Ticks; total: { count: number; exact: boolean }; query: string }) {
  const all = `${count(total.count)}${total.exact ? "" : "+"}`;
  return (
    <div className={join("row s", styles.chosen)} role="status">
      <b>{ticks.all ? `All ${all} that match` : `${count(ticks.ticked.size)} ticked`}</b>
      <ReplayButton key={String(ticks.all)} what={ticks.all ? { filter: query } : { ids: [...ticks.ticked] }}>Replay {ticks.all ? all : count(ticks.ticked.size)}…</ReplayButton>
      {!ticks.all && <LinkButton onClick={ticks.takeAll}>Select all {all} that match</LinkButton>}
      <span className="sp" />
      <LinkButton onClick={ticks.clear}>Clear</LinkButton>
    </div>
  );
}
