import { useEffect, useMemo, useState } from "react";
import { useNavigate, useParams, useSearchParams } from "react-router";
import { useGroup, useGroupCounts, useGroups } from "../../api/groups";
import type { GroupPage, Regrouping } from "../../api/types";
import { recordsWith } from "../../lib/filter";
import { count, plural, took } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import type { Range } from "../../lib/ranges";
import { inSpan, readSpan, spanWords, widen } from "../../lib/span";
import { useTicks } from "../../lib/ticks";
import { LoadError } from "../../ui/LoadError";
import { LinkButton } from "../../ui/controls";
import { MenuButton } from "../../ui/MenuButton";
import { TabRow } from "../../ui/TabRow";
import { RefreshError } from "../../ui/RefreshError";
import { SkeletonRows, PageHead, Panel, Strip } from "../../ui/Panel";
import { TimeRangeControl } from "../../ui/TimeRangeControl";
import { useTitle } from "../../ui/useTitle";
import { EmptyGroups } from "./EmptyGroups";
import { GroupBulkActions } from "./GroupBulkActions";
import { GroupPanel } from "./GroupPanel";
import { GroupSearch } from "./GroupSearch";
import { GroupTable } from "./GroupTable";
import { OwnerFilter } from "./OwnerFilter";
import { UndoRegroupingButton, regroupingLabel } from "./Regroupings";

const TABS = ["unresolved", "new", "regressed", "escalating", "muted", "resolved"];
const SORTS = [
  { value: "events", label: "events" },
  { value: "open", label: "open records" },
  { value: "last_seen", label: "last seen" },
  { value: "first_seen", label: "first seen" },
];
const COUNTS_REFRESH_MS = 10_000;
const SEARCH_REFRESH_MS = 600_000;

/** The groups screen: groups of the same failure, with the chosen one in detail. */
export function Groups() {
  const { id } = useParams();
  const [params, setParams] = useSearchParams();
  const navigate = useNavigate();
  const status = TABS.find((tab) => tab === params.get("status")) ?? "unresolved";
  const span = readSpan(params);
  const sort = SORTS.find((option) => option.value === params.get("sort")) ?? SORTS[0]!;
  const search = params.get("q") ?? "";
  const owner = params.get("owner") ?? "";
  const query = new URLSearchParams({
    status,
    sort: sort.value,
    from: span.from,
    to: span.to,
    ...(search ? { q: search } : {}),
    ...(owner ? { owner } : {}),
  }).toString();
  const list = useGroups(query);
  // A search may read records, so it is repeated seldom.
  const latest = useGroupCounts(query, search === "" ? COUNTS_REFRESH_MS : SEARCH_REFRESH_MS);
  const groups = useMemo(() => list.data?.pages.flatMap((page) => page.results) ?? [], [list.data]);
  const first = list.data?.pages[0];
  const chosen = id === undefined ? groups[0]?.id : Number(id);
  const counts: Readonly<Record<string, number>> = latest.data?.counts ?? first?.counts ?? {};
  const newEvents = latest.data && first ? latest.data.total_records - first.total_records : 0;

  const setParam = (name: string, value: string) => {
    const next = new URLSearchParams(params);
    if (value === "") next.delete(name);
    else next.set(name, value);
    if (name === "status") navigate(`/groups?${next}`);
    else setParams(next);
  };
  const widenSpan = (range?: Range) => setParams(widen(params, range));
  const open = (group: number) => navigate(`/groups/${group}?${params}`);
  const moveRow = (by: number) => {
    const next = groups[groups.findIndex((group) => group.id === chosen) + by];
    if (next) open(next.id);
  };
  const moveTab = (by: number) => {
    const next = TABS[TABS.indexOf(status) + by];
    if (next) setParam("status", next);
  };
  const ticks = useTicks(query, groups);
  const ticked = groups.filter((group) => ticks.ticked.has(group.id));
  const [lastRegrouping, setLastRegrouping] = useState<Regrouping | null>(null);
  const onRegrouped = (regrouping: Regrouping) => {
    ticks.clear();
    setLastRegrouping(regrouping);
    if (regrouping.targets[0]) open(regrouping.targets[0].id);
  };
  const requested = useGroup(id === undefined ? undefined : Number(id), span);
  const mergedInto =
    requested.data && !requested.isPlaceholderData && requested.data.id !== Number(id) ? requested.data.id : undefined;
  useEffect(() => {
    // The address can name a group that was merged away.
    if (mergedInto !== undefined) void navigate(`/groups/${mergedInto}?${params}`, { replace: true });
  }, [mergedInto, navigate, params]);
  useKeys({
    j: () => moveRow(1),
    k: () => moveRow(-1),
    x: () => chosen && ticks.tick(chosen, false),
    X: () => chosen && ticks.tick(chosen, true),
    Escape: () =>
      ticked.length > 0 || lastRegrouping ? (ticks.clear(), setLastRegrouping(null)) : span.narrowed && widenSpan(),
    "[": () => moveTab(-1),
    "]": () => moveTab(1),
    Enter: () => chosen && navigate(inSpan(recordsWith("group", chosen), span)),
  });
  useTitle("Groups");

  return (
    <>
      <PageHead
        title="Groups"
        note={
          first
            ? `${plural(first.total_records, "dead letter")} in ${plural(counts[status] ?? groups.length, "group")}, ${spanWords(span)}. Failures with the same exception, stage, origin and normalised message are one group.`
            : " "
        }
      >
        <OwnerFilter value={owner} onChange={(next) => setParam("owner", next)} />
        <TimeRangeControl span={span} onWiden={widenSpan} />
        <MenuButton
          label={`Sort: ${sort.label} ▾`}
          items={SORTS.map((option) => ({ label: option.label, onClick: () => setParam("sort", option.value) }))}
        />
      </PageHead>
      <GroupSearch
        key={search}
        query={search}
        error={list.isError && search !== "" ? list.error.message : undefined}
        onChange={(next) => setParam("q", next)}
      />
      <div style={{ marginBottom: 12 }}>
        <TabRow
          value={status}
          onChange={(next) => setParam("status", next)}
          items={TABS.map((tab) => ({
            value: tab,
            label: tab[0]!.toUpperCase() + tab.slice(1),
            note: count(counts[tab] ?? 0),
          }))}
        >
          {first && (
            <span className="s t3 nw" style={{ alignSelf: "center" }}>
              {exactnessWords(first)}, {took(first.took_ms)}.{" "}
              {newEvents > 0 && (
                <LinkButton onClick={() => void list.refetch()}>{plural(newEvents, "new event")}: show</LinkButton>
              )}
            </span>
          )}
        </TabRow>
      </div>
      {list.isError && first && (
        <RefreshError error={list.error} at={list.dataUpdatedAt} onAgain={() => void list.refetch()} />
      )}
      {lastRegrouping && (
        <Strip tone="accent">
          <span data-testid="regrouped">
            {regroupingLabel(lastRegrouping)}.{" "}
            <UndoRegroupingButton regrouping={lastRegrouping} onDone={() => setLastRegrouping(null)} />
          </span>
        </Strip>
      )}
      <Panel label="Groups">
        {ticked.length > 0 && (
          <GroupBulkActions
            chosen={ticked}
            shown={groups.length}
            span={span}
            onAll={() => ticks.take(groups.map((group) => group.id))}
            onClear={ticks.clear}
            onMerged={onRegrouped}
          />
        )}
        {list.isPending && <SkeletonRows rows={6} height={42} />}
        {list.isError && !first && (
          <LoadError title="The groups could not be loaded" error={list.error} onAgain={() => void list.refetch()} />
        )}
        {first && groups.length === 0 && (
          <EmptyGroups
            status={status}
            span={span}
            counts={counts}
            onWiden={widenSpan}
            onAnyOwner={owner ? () => setParam("owner", "") : undefined}
          />
        )}
        {groups.length > 0 && (
          <GroupTable
            groups={groups}
            chosen={chosen}
            span={span}
            ticked={ticks.ticked}
            onChoose={open}
            onTick={ticks.tick}
            onMore={list.hasNextPage ? () => void list.fetchNextPage() : undefined}
          />
        )}
      </Panel>
      {chosen && <GroupPanel id={chosen} span={span} hasTicked={ticked.length > 0} onRegrouped={onRegrouped} />}
    </>
  );
}

/** Tell which counts are exact. Counters do not know the content of records. */
function exactnessWords({ exact, of, partial }: GroupPage): string {
  if (of === null) return exact ? "Exact" : "Bounded";
  if (partial) return `Partial: stopped at 2 s after ${plural(of, "matching record")}`;
  const events = exact
    ? `Events: ${plural(of, "matching record")}`
    : `Events: the newest ${count(of)} matching records`;
  return `${events}; trend, 24 h, now and keys: whole groups`;
}
