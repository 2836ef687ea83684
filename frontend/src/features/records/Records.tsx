import { useMemo, useRef, useState } from "react";
import { useNavigate, useSearchParams } from "react-router";
import { useListRequests, useDeadLetterTotal, useDeadLetters, useFacets } from "../../api/deadLetters";
import type { DeadLetterRow, Facets } from "../../api/types";
import { apiQuery, readsRecordBytes, readFilter, writeFilter, type Filter } from "../../lib/filter";
import { count } from "../../lib/format";
import { useStoredState } from "../../lib/storedState";
import { useKeys } from "../../lib/keys";
import { useTicks } from "../../lib/ticks";
import type { Total } from "../../lib/total";
import { Button, LinkButton } from "../../ui/controls";
import { RefreshError } from "../../ui/RefreshError";
import { PageHead, Panel, join } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import { ExportButton } from "../exporting/ExportButton";
import { ResultSummary } from "./ResultSummary";
import { ColumnMenu } from "./ColumnMenu";
import { readColumns } from "./columns";
import { RecordsEmptyState } from "./RecordsEmptyState";
import { RefreshIntervalSelect, readRefreshInterval } from "./RefreshIntervalSelect";
import { FacetRail } from "./FacetRail";
import { RecordListFooter } from "./RecordListFooter";
import { isPartial } from "./pages";
import { QueryBar } from "./QueryBar";
import { RecordRows } from "./RecordRows";
import styles from "./Records.module.css";
import { SavedSearchMenu } from "./SavedSearchMenu";
import { BulkActionBar } from "./BulkActionBar";
import { ErrorHistogram } from "./ErrorHistogram";
import { RecordListPlaceholder } from "./RecordListPlaceholder";

const NO_ROWS: DeadLetterRow[] = [];

/** The page that searches and lists dead letters. */
export function Records() {
  const [params, setParams] = useSearchParams();
  const navigate = useNavigate();
  const [railOpen, setRailOpen] = useState(false);
  const [columns, setColumns] = useStoredState("dlqadmin.columns", readColumns, (ids) => ids.join(","));
  const [everyMs, setEveryMs] = useStoredState("dlqadmin.look-every", readRefreshInterval, String);
  const input = useRef<HTMLInputElement>(null);
  const filter = useMemo(() => readFilter(params), [params]);
  const query = apiQuery(filter);
  const at = params.get("at");
  const list = useDeadLetters(query);
  const facets = useFacets(query);
  const asking = useListRequests(query);
  const isAsked = list.fetchStatus !== "idle";
  const loaded = useMemo(() => list.data?.pages.flatMap((page) => page.results) ?? [], [list.data]);
  const [rows, earlier] = list.isPlaceholderData ? [NO_ROWS, loaded] : [loaded, NO_ROWS];
  const pages = list.isPlaceholderData ? [] : (list.data?.pages ?? []);
  const first = pages[0];
  const present = useDeadLetterTotal(
    query,
    everyMs,
    everyMs > 0 && first !== undefined && !readsRecordBytes(filter) && !list.isError,
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
        <SavedSearchMenu filter={filter} onChange={set} />
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
      <div className={join("row s t2", styles.toolbar)}>
        {first ? (
          <ResultSummary
            shown={rows.length}
            first={first}
            pages={pages}
            exactFacets={facets.isPlaceholderData ? undefined : facets.data?.exact}
            filter={filter}
            onChange={set}
          />
        ) : isAsked ? (
          "Searching…"
        ) : (
          " "
        )}
        <span className="sp" />
        <NewRecordsLink present={everyMs > 0 ? present.data : undefined} shown={first?.total} onShow={asking.again} />
        <RefreshIntervalSelect ms={everyMs} onChange={setEveryMs} />
        <ColumnMenu columns={columns} onChange={setColumns} />
        <span className={styles.railToggle}>
          <LinkButton onClick={() => setRailOpen(!railOpen)}>{railOpen ? "Hide facets" : "Facets"}</LinkButton>
        </span>
      </div>
      {first && refused && (
        <RefreshError
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
          <ErrorHistogram query={query} onNarrow={(from, to) => set({ ...filter, from, to })} />
          {!first && (
            <RecordListPlaceholder
              error={list.error}
              asking={isAsked}
              earlier={earlier}
              columns={columns}
              onAgain={asking.again}
            />
          )}
          {first && rows.length === 0 && (
            <RecordsEmptyState
              filter={filter}
              pages={pages}
              onChange={set}
              onOlder={list.hasNextPage ? older : undefined}
            />
          )}
          {first && ticks.ticked.size > 0 && (
            <BulkActionBar
              ticks={ticks}
              rows={rows}
              total={first.total}
              openOfAll={openCount(facets.isPlaceholderData ? undefined : facets.data)}
              query={query}
            />
          )}
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
            <RecordListFooter
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

/** Return the number of open records that match, if the facets are exact. */
function openCount(facets: Facets | undefined): number | undefined {
  if (!facets?.exact) return undefined;
  return facets.facets.work?.find(({ value }) => value === "open")?.count ?? 0;
}

/** The number of new records. The list changes only on a click, so that no row moves under the pointer. */
function NewRecordsLink({
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
