import { useMemo, useRef, useState } from "react";
import { useNavigate, useSearchParams } from "react-router";
import { useAsking, useDeadLetterTotal, useDeadLetters, useFacets } from "../../api/deadLetters";
import type { DeadLetterRow } from "../../api/types";
import { askFilter, isProbed, readFilter, writeFilter, type Filter } from "../../lib/filter";
import { count } from "../../lib/format";
import { useKept } from "../../lib/kept";
import { useKeys } from "../../lib/keys";
import { useTicks } from "../../lib/ticks";
import type { Total } from "../../lib/total";
import { Button, LinkButton } from "../../ui/controls";
import { NotRefreshed } from "../../ui/NotRefreshed";
import { PageHead, Panel, join } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import { ExportButton } from "../exporting/ExportButton";
import { Answer } from "./Answer";
import { ColumnMenu } from "./ColumnMenu";
import { readColumns } from "./columns";
import { Empty } from "./Empty";
import { Every, readEvery } from "./Every";
import { FacetRail } from "./FacetRail";
import { Foot } from "./Foot";
import { isPartial } from "./pages";
import { QueryBar } from "./QueryBar";
import { RecordRows } from "./RecordRows";
import styles from "./Records.module.css";
import { SavedMenu } from "./SavedMenu";
import { TickBar } from "./TickBar";
import { TimeStrip } from "./TimeStrip";
import { Unanswered } from "./Unanswered";

const NO_ROWS: DeadLetterRow[] = [];

/** Which records exactly, and how complete is this answer? */
export function Records() {
  const [params, setParams] = useSearchParams();
  const navigate = useNavigate();
  const [railOpen, setRailOpen] = useState(false);
  const [columns, setColumns] = useKept("dlqadmin.columns", readColumns, (ids) => ids.join(","));
  const [everyMs, setEveryMs] = useKept("dlqadmin.look-every", readEvery, String);
  const input = useRef<HTMLInputElement>(null);
  const filter = useMemo(() => readFilter(params), [params]);
  const query = askFilter(filter);
  const at = params.get("at");
  const list = useDeadLetters(query);
  const facets = useFacets(query);
  const asking = useAsking(query);
  const isAsked = list.fetchStatus !== "idle";
  const loaded = useMemo(() => list.data?.pages.flatMap((page) => page.results) ?? [], [list.data]);
  const [rows, earlier] = list.isPlaceholderData ? [NO_ROWS, loaded] : [loaded, NO_ROWS];
  const pages = list.isPlaceholderData ? [] : (list.data?.pages ?? []);
  const first = pages[0];
  const present = useDeadLetterTotal(
    query,
    everyMs,
    everyMs > 0 && first !== undefined && !isProbed(filter) && !list.isError,
  );
  const refused = list.error ?? present.error;
  const older = () => void list.fetchNextPage();
  const set = (next: Filter) => setParams(writeFilter(next));
  const address = writeFilter(filter).toString();
  const mark = (id: number) => {
    const next = writeFilter(filter);
    next.set("at", String(id));
    setParams(next, { replace: true });
  };
  const move = (by: number) => {
    const next = rows[Math.max(0, rows.findIndex((row) => String(row.id) === at) + by)];
    if (next) mark(next.id);
  };
  const ticks = useTicks(query, rows);
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: (event) => (event.preventDefault(), move(1)),
    ArrowUp: (event) => (event.preventDefault(), move(-1)),
    x: () => at && ticks.tick(Number(at), false),
    X: () => at && ticks.tick(Number(at), true),
    Enter: () => at && navigate(`/records/${at}?${address}`),
    "/": (event) => (event.preventDefault(), input.current?.focus()),
  });
  useTitle("Records");
  return (
    <>
      <PageHead title="Records" note="Dead letters from all watched topics">
        <SavedMenu filter={filter} onChange={set} />
        <ExportButton query={query} total={first?.total} />
      </PageHead>
      <QueryBar
        input={input}
        filter={filter}
        groupLabels={labels(facets.data?.facets.group)}
        error={list.error}
        onChange={set}
      >
        {isAsked || facets.isFetching ? (
          <Button onClick={asking.cancel}>Cancel</Button>
        ) : (
          <Button kind="primary" onClick={asking.again}>
            Refresh
          </Button>
        )}
      </QueryBar>
      <div className={join("row s t2", styles.line)}>
        {first ? (
          <Answer
            shown={rows.length}
            first={first}
            pages={pages}
            exactFacets={facets.isPlaceholderData ? undefined : facets.data?.exact}
            filter={filter}
            onChange={set}
          />
        ) : isAsked ? (
          "Asking…"
        ) : (
          " "
        )}
        <span className="sp" />
        <Fresh present={everyMs > 0 ? present.data : undefined} shown={first?.total} onShow={asking.again} />
        <Every ms={everyMs} onChange={setEveryMs} />
        <ColumnMenu columns={columns} onChange={setColumns} />
        <span className={styles.railToggle}>
          <LinkButton onClick={() => setRailOpen(!railOpen)}>{railOpen ? "Hide facets" : "Facets"}</LinkButton>
        </span>
      </div>
      {first && refused && (
        <NotRefreshed
          error={refused}
          at={list.dataUpdatedAt}
          onAgain={list.isFetchNextPageError ? older : asking.again}
        />
      )}
      <div className={styles.body}>
        <aside className={join(styles.rail, railOpen && styles.railOpen)} aria-label="Facets">
          <FacetRail asked={facets} filter={filter} onChange={set} />
        </aside>
        <Panel className={styles.panel} label="Dead letters">
          <TimeStrip query={query} onNarrow={(from, to) => set({ ...filter, from, to })} />
          {!first && (
            <Unanswered
              error={list.error}
              asking={isAsked}
              earlier={earlier}
              columns={columns}
              onAgain={asking.again}
            />
          )}
          {first && rows.length === 0 && (
            <Empty filter={filter} pages={pages} onChange={set} onOlder={list.hasNextPage ? older : undefined} />
          )}
          {first && ticks.ticked.size > 0 && <TickBar ticks={ticks} total={first.total} query={query} />}
          {rows.length > 0 && (
            <RecordRows
              rows={rows}
              at={at}
              address={address}
              ticked={ticks.ticked}
              columns={columns}
              onTick={ticks.tick}
            />
          )}
          {rows.length > 0 && (
            <Foot
              loaded={rows.length}
              partial={isPartial(pages)}
              loading={list.isFetchingNextPage}
              onOlder={list.hasNextPage ? older : undefined}
            />
          )}
        </Panel>
      </div>
    </>
  );
}

/** Says what arrived meanwhile; the list itself never moves under the pointer. */
function Fresh({
  present,
  shown,
  onShow,
}: {
  present: Total | undefined;
  shown: Total | undefined;
  onShow: () => void;
}) {
  const fresh = present?.exact && shown?.exact ? present.count - shown.count : 0;
  if (fresh <= 0) return null;
  return <LinkButton onClick={onShow}>{count(fresh)} new: show</LinkButton>;
}

function labels(values: { value: string | number | null; label: string }[] | undefined): Map<string, string> {
  return new Map(values?.map((one) => [String(one.value), one.label]));
}
