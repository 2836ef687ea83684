import { useEffect, useMemo, useRef, useState } from "react";
import { useNavigate, useSearchParams } from "react-router";
import { PAGE_SIZE, exportUrl, useDeadLetterTotal, useDeadLetters, useFacets } from "../../api/deadLetters";
import type { DeadLetterPage } from "../../api/types";
import { askFilter, readFilter, writeFilter, type Filter } from "../../lib/filter";
import { ago, count, plural, took } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { useNow } from "../../lib/zone";
import { Button, LinkButton, MenuButton } from "../../ui/controls";
import { Bones, Notice, PageHead, Panel, join } from "../../ui/Panel";
import { FacetRail } from "./FacetRail";
import { QueryBar } from "./QueryBar";
import { RecordRows } from "./RecordRows";
import styles from "./Records.module.css";
import { TickBar } from "./TickBar";
import { TimeStrip } from "./TimeStrip";
import { useTicks } from "./useTicks";

const EVERY_MS = 10_000;

/** Which records exactly, and how complete is this answer? */
export function Records() {
  const [params, setParams] = useSearchParams();
  const navigate = useNavigate();
  const [railOpen, setRailOpen] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const filter = useMemo(() => readFilter(params), [params]);
  const query = askFilter(filter);
  const at = params.get("at");
  const list = useDeadLetters(query);
  const facets = useFacets(query);
  const present = useDeadLetterTotal(query, EVERY_MS);
  const rows = useMemo(() => list.data?.pages.flatMap((page) => page.results) ?? [], [list.data]);
  const first = list.data?.pages[0];
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
  useEffect(() => {
    document.title = "Records · dlqadmin";
  }, []);

  const total = first ? `${count(first.total.count)}${first.total.exact ? "" : "+"}` : "";
  return (
    <>
      <PageHead title="Records" note="dead letters of every watched topic">
        {first && first.total.count > 0 && (
          <MenuButton
            label={`Export ${total}…`}
            items={[
              { label: `${total} records as NDJSON`, href: exportUrl("ndjson", query) },
              { label: `${total} records as CSV`, href: exportUrl("csv", query) },
            ]}
          />
        )}
      </PageHead>
      <QueryBar ref={input} filter={filter} groupLabels={labels(facets.data?.facets.group)} onChange={set}>
        <Button kind="primary" busy={list.isFetching} onClick={() => void Promise.all([list.refetch(), facets.refetch(), present.refetch()])}>Refresh</Button>
      </QueryBar>
      <div className={join("row s t2", styles.line)}>
        {first ? <Answer shown={rows.length} first={first} exactFacets={facets.data?.exact} /> : " "}
        <span className="sp" />
        <Fresh present={present.data?.count} shown={first?.total.count} onShow={() => void Promise.all([list.refetch(), facets.refetch()])} />
        <span className={styles.railToggle}><LinkButton onClick={() => setRailOpen(!railOpen)}>{railOpen ? "Hide facets" : "Facets"}</LinkButton></span>
      </div>
      <div className={styles.body}>
        <aside className={join(styles.rail, railOpen && styles.railOpen)} aria-label="Facets">
          <FacetRail facets={facets.data} error={facets.error} filter={filter} onChange={set} />
        </aside>
        <Panel className={styles.panel} label="Dead letters">
          <TimeStrip query={query} onNarrow={(from, to) => set({ ...filter, from, to })} />
          {list.isPending && <Bones rows={14} height={16} />}
          {list.isError && !first && <Notice title="The records did not come">{list.error.message}</Notice>}
          {first && rows.length === 0 && <Empty filter={filter} onChange={set} />}
          {first && ticks.ticked.size > 0 && <TickBar ticks={ticks} total={first.total} query={query} />}
          {rows.length > 0 && <RecordRows rows={rows} at={at} address={address} ticked={ticks.ticked} onTick={ticks.tick} />}
          {first && rows.length > 0 && (
            <div className={join("row s t3", styles.foot)}>
              <span>{plural(rows.length, "row")} loaded</span>
              <span className="sp" />
              <span className={styles.keys}><kbd>j</kbd> <kbd>k</kbd> move</span>
              <span className={styles.keys}><kbd>↵</kbd> open</span>
              <span className={styles.keys}><kbd>x</kbd> tick</span>
              <span className={styles.keys}><kbd>/</kbd> filter</span>
              {list.hasNextPage ? (
                <LinkButton onClick={() => void list.fetchNextPage()}>{list.isFetchingNextPage ? "Loading…" : `Older ${PAGE_SIZE}`}</LinkButton>
              ) : (
                <span>no older ones in this time</span>
              )}
            </div>
          )}
        </Panel>
      </div>
    </>
  );
}

function Answer({ shown, first, exactFacets }: { shown: number; first: DeadLetterPage; exactFacets: boolean | undefined }) {
  const now = useNow(5_000);
  const total = `${count(first.total.count)}${first.total.exact ? "" : "+"}`;
  const quality = first.total.exact && exactFacets ? "facets and total exact" : first.total.exact ? "total exact, facets of the newest" : "total and facets bounded";
  return (
    <>
      <b style={{ color: "var(--text)" }} data-testid="shown">Showing {count(shown)} of {total}</b>
      <span className="t3">·</span>{quality}
      <span className="t3">·</span>took {took(first.took_ms)}
      <span className="t3">·</span>ran {ago(first.ran_at, now)}
      {first.partial && <span className="warn b">Stopped at the time-out: this answer is partial, narrow the time.</span>}
    </>
  );
}

/** Says what arrived meanwhile; the list itself never moves under the pointer. */
function Fresh({ present, shown, onShow }: { present: number | undefined; shown: number | undefined; onShow: () => void }) {
  const fresh = present !== undefined && shown !== undefined ? present - shown : 0;
  if (fresh <= 0) return null;
  return <LinkButton onClick={onShow}>{plural(fresh, "new record")}: show</LinkButton>;
}

function Empty({ filter, onChange }: { filter: Filter; onChange: (filter: Filter) => void }) {
  const active = filter.clauses.filter((clause) => !clause.off);
  if (active.length === 0 && !filter.text) {
    return <Notice title="No failures in this time" actions={<Button onClick={() => onChange({ ...filter, from: "now-30d", to: "now" })}>Look at the last 30 d</Button>}>Nothing was dead-lettered between {filter.from} and {filter.to}.</Notice>;
  }
  return (
    <Notice
      title="No record matches"
      actions={
        <>
          {active.map((clause, index) => (
            <Button key={index} onClick={() => onChange({ ...filter, clauses: filter.clauses.filter((one) => one !== clause) })}>Without {clause.exclude && "not "}{clause.field} {clause.value.slice(0, 24)}</Button>
          ))}
          {filter.text && <Button onClick={() => onChange({ ...filter, text: "" })}>Without “{filter.text}”</Button>}
        </>
      }
    >
      Take something away, or choose a longer time.
    </Notice>
  );
}

function labels(values: { value: string | number | null; label: string }[] | undefined): Map<string, string> {
  return new Map(values?.map((one) => [String(one.value), one.label]));
}
