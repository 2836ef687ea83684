import { useEffect, useMemo, useState } from "react";
import { useNavigate, useParams, useSearchParams } from "react-router";
import { useGroup, useGroupCounts, useGroups } from "../../api/groups";
import type { Regrouping } from "../../api/types";
import { recordsWith } from "../../lib/filter";
import { count, plural, took } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import type { Range } from "../../lib/ranges";
import { inSpan, readSpan, spanWords, widen } from "../../lib/span";
import { useTicks } from "../../lib/ticks";
import { LoadError } from "../../ui/LoadError";
import { LinkButton, MenuButton, TabRow } from "../../ui/controls";
import { RefreshError } from "../../ui/RefreshError";
import { SkeletonRows, PageHead, Panel, Strip } from "../../ui/Panel";
import { TimeRangeControl } from "../../ui/TimeRangeControl";
import { useTitle } from "../../ui/useTitle";
import { BulkBar } from "./BulkBar";
import { Empty } from "./Empty";
import { GroupPanel } from "./GroupPanel";
import { GroupTable } from "./GroupTable";
import { Undo, words } from "./Regrouped";

const TABS = ["unresolved", "new", "regressed", "escalating", "muted", "resolved"];
const SORTS = [
  { value: "events", label: "events" },
  { value: "last_seen", label: "last seen" },
  { value: "first_seen", label: "first seen" },
];
const EVERY_MS = 10_000;

/** Which failures are the same, which one now, and why are these one group? */
export function Groups() {
  const { id } = useParams();
  const [params, setParams] = useSearchParams();
  const navigate = useNavigate();
  const status = TABS.find((tab) => tab === params.get("status")) ?? "unresolved";
  const span = readSpan(params);
  const sort = SORTS.find((one) => one.value === params.get("sort")) ?? SORTS[0]!;
  const query = new URLSearchParams({ status, sort: sort.value, from: span.from, to: span.to }).toString();
  const list = useGroups(query);
  const present = useGroupCounts(query, EVERY_MS);
  const groups = useMemo(() => list.data?.pages.flatMap((page) => page.results) ?? [], [list.data]);
  const first = list.data?.pages[0];
  const chosen = id === undefined ? groups[0]?.id : Number(id);
  const counts: Readonly<Record<string, number>> = present.data?.counts ?? first?.counts ?? {};
  const fresh = present.data && first ? present.data.total_records - first.total_records : 0;

  const set = (name: string, value: string) => {
    const next = new URLSearchParams(params);
    next.set(name, value);
    if (name === "status") navigate(`/groups?${next}`);
    else setParams(next);
  };
  const wide = (range?: Range) => setParams(widen(params, range));
  const open = (group: number) => navigate(`/groups/${group}?${params}`);
  const move = (by: number) => {
    const next = groups[groups.findIndex((group) => group.id === chosen) + by];
    if (next) open(next.id);
  };
  const turn = (by: number) => {
    const next = TABS[TABS.indexOf(status) + by];
    if (next) set("status", next);
  };
  const ticks = useTicks(query, groups);
  const ticked = groups.filter((group) => ticks.ticked.has(group.id));
  const [done, setDone] = useState<Regrouping | null>(null);
  const regrouped = (what: Regrouping) => {
    ticks.clear();
    setDone(what);
    if (what.targets[0]) open(what.targets[0].id);
  };
  const asked = useGroup(id === undefined ? undefined : Number(id), span);
  const home = asked.data && !asked.isPlaceholderData && asked.data.id !== Number(id) ? asked.data.id : undefined;
  useEffect(() => {
    if (home !== undefined) void navigate(`/groups/${home}?${params}`, { replace: true }); // it was merged into that one
  }, [home, navigate, params]);
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    x: () => chosen && ticks.tick(chosen, false),
    X: () => chosen && ticks.tick(chosen, true),
    Escape: () => (ticked.length > 0 || done ? (ticks.clear(), setDone(null)) : span.narrowed && wide()),
    "[": () => turn(-1),
    "]": () => turn(1),
    Enter: () => chosen && navigate(inSpan(recordsWith("group", chosen), span)),
  });
  useTitle("Groups");

  return (
    <>
      <PageHead
        title="Groups"
        note={
          first
            ? `${plural(first.total_records, "dead letter")} in ${plural(counts[status] ?? groups.length, "group")}, ${spanWords(span)}. Same exception, stage and normalised message make one group.`
            : " "
        }
      >
        <TimeRangeControl span={span} onWiden={wide} />
        <MenuButton
          label={`Sort: ${sort.label} ▾`}
          items={SORTS.map((one) => ({ label: one.label, onClick: () => set("sort", one.value) }))}
        />
      </PageHead>
      <div style={{ marginBottom: 12 }}>
        <TabRow
          value={status}
          onChange={(next) => set("status", next)}
          items={TABS.map((tab) => ({
            value: tab,
            label: tab[0]!.toUpperCase() + tab.slice(1),
            note: count(counts[tab] ?? 0),
          }))}
        >
          {first && (
            <span className="s t3 nw" style={{ alignSelf: "center" }}>
              {first.exact ? "Exact" : "Bounded"}, {took(first.took_ms)}.{" "}
              {fresh > 0 && (
                <LinkButton onClick={() => void list.refetch()}>{plural(fresh, "new event")}: show</LinkButton>
              )}
            </span>
          )}
        </TabRow>
      </div>
      {list.isError && first && (
        <RefreshError error={list.error} at={list.dataUpdatedAt} onAgain={() => void list.refetch()} />
      )}
      {done && (
        <Strip tone="accent">
          <span data-testid="regrouped">
            {words(done)}. <Undo done={done} onDone={() => setDone(null)} />
          </span>
        </Strip>
      )}
      <Panel label="Groups">
        {ticked.length > 0 && (
          <BulkBar
            chosen={ticked}
            shown={groups.length}
            span={span}
            onAll={() => ticks.take(groups.map((group) => group.id))}
            onClear={ticks.clear}
            onMerged={regrouped}
          />
        )}
        {list.isPending && <SkeletonRows rows={6} height={42} />}
        {list.isError && !first && (
          <LoadError title="The groups could not be loaded" error={list.error} onAgain={() => void list.refetch()} />
        )}
        {first && groups.length === 0 && <Empty status={status} span={span} counts={counts} onWiden={wide} />}
        {groups.length > 0 && (
          <GroupTable
            groups={groups}
            chosen={chosen}
            span={span}
            ticked={ticks.ticked}
            onChoose={open}
            onTick={ticks.tick}
            more={list.hasNextPage ? () => void list.fetchNextPage() : undefined}
          />
        )}
      </Panel>
      {chosen && <GroupPanel id={chosen} span={span} others={ticked.length > 0} onDone={regrouped} />}
    </>
  );
}
