import type { SelectionRequest } from "../../api/replays";
import type { DeadLetterRow } from "../../api/types";
import { count } from "../../lib/format";
import type { Ticks } from "../../lib/ticks";
import { totalWords, type Total } from "../../lib/total";
import { LinkButton } from "../../ui/controls";
import { join } from "../../ui/Panel";
import { BulkFixButton } from "../disposals/BulkFixButton";
import { DisposalMenu } from "../disposals/DisposalMenu";
import { ReplayButton } from "../plan/ReplayButton";
import styles from "./Records.module.css";

interface Props {
  ticks: Ticks;
  rows: readonly DeadLetterRow[];
  total: Total;
  /** The exact number of open records among all that match; undefined if it is not known. */
  openOfAll: number | undefined;
  query: string;
}

/** The actions on the ticked rows. "All that match" is sent as a filter, because most of its ids are not loaded. */
export function BulkActionBar({ ticks, rows, total, openOfAll, query }: Props) {
  const all = totalWords(total);
  const what: SelectionRequest = ticks.all ? { filter: query } : { ids: [...ticks.ticked] };
  const many = ticks.all ? all : count(ticks.ticked.size);
  const openIds = rows.filter((row) => ticks.ticked.has(row.id) && row.work_state === "open").map((row) => row.id);
  const open = ticks.all ? openOfAll : openIds.length;
  return (
    <div className={join("row s", styles.bulkActions)} role="status">
      <b>{ticks.all ? `All ${all} that match` : `${count(ticks.ticked.size)} ticked`}</b>
      <ReplayButton
        key={String(ticks.all)}
        what={ticks.all ? { filter: query } : { ids: openIds }}
        barred={open === 0 ? "None of them is open" : undefined}
      >
        Replay {open === undefined ? "all" : count(open)} open…
      </ReplayButton>
      <BulkFixButton key={`fix ${ticks.all}`} what={what} />
      <DisposalMenu what={what} subject={many === "1" ? "1 record" : `${many} records`} onDone={ticks.clear} />
      {!ticks.all && <LinkButton onClick={ticks.takeAll}>Select all {all} that match</LinkButton>}
      <span className="sp" />
      <LinkButton onClick={ticks.clear}>Clear</LinkButton>
    </div>
  );
}
