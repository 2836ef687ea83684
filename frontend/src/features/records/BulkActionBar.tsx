import type { SelectionRequest } from "../../api/replays";
import { count } from "../../lib/format";
import type { Ticks } from "../../lib/ticks";
import { totalWords, type Total } from "../../lib/total";
import { LinkButton } from "../../ui/controls";
import { join } from "../../ui/Panel";
import { BulkFixButton } from "../disposals/BulkFixButton";
import { DisposalMenu } from "../disposals/DisposalMenu";
import { ReplayButton } from "../plan/ReplayButton";
import styles from "./Records.module.css";

/** The actions on the ticked rows. "All that match" is sent as a filter, because most of its ids are not loaded. */
export function BulkActionBar({ ticks, total, query }: { ticks: Ticks; total: Total; query: string }) {
  const all = totalWords(total);
  const what: SelectionRequest = ticks.all ? { filter: query } : { ids: [...ticks.ticked] };
  const many = ticks.all ? all : count(ticks.ticked.size);
  return (
    <div className={join("row s", styles.bulkActions)} role="status">
      <b>{ticks.all ? `All ${all} that match` : `${count(ticks.ticked.size)} ticked`}</b>
      <ReplayButton key={String(ticks.all)} what={what}>
        Replay {many}…
      </ReplayButton>
      <BulkFixButton key={`fix ${ticks.all}`} what={what} />
      <DisposalMenu what={what} subject={many === "1" ? "1 record" : `${many} records`} onDone={ticks.clear} />
      {!ticks.all && <LinkButton onClick={ticks.takeAll}>Select all {all} that match</LinkButton>}
      <span className="sp" />
      <LinkButton onClick={ticks.clear}>Clear</LinkButton>
    </div>
  );
}
