import { useEffect, useMemo } from "react";
import { useNavigate, useParams, useSearchParams } from "react-router";
import { useGroupCounts, useGroups } from "../../api/groups";
import { count, plural, took } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { RANGES, asRange, rangeWords } from "../../lib/ranges";
import { Choice, LinkButton, MenuButton, TabRow } from "../../ui/controls";
import { Bones, Notice, PageHead, Panel } from "../../ui/Panel";
import { GroupPanel } from "./GroupPanel";
import { GroupTable } from "./GroupTable";

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
  const range = asRange(params.get("range"));
  const sort = SORTS.find((one) => one.value === params.get("sort")) ?? SORTS[0]!;
  const query = new URLSearchParams({ status, sort: sort.value, from: `now-${range}`, to: "now" }).toString();
  const list = useGroups(query);
  const present = useGroupCounts(query, EVERY_MS);
  const groups = useMemo(() => list.data?.pages.flatMap((page) => page.results) ?? [], [list.data]);
  const first = list.data?.pages[0];
  const chosen = id === undefined ? groups[0]?.id : Number(id);
  const counts = present.data?.counts ?? first?.counts ?? {};
  const fresh = present.data && first ? present.data.total_records - first.total_records : 0;

  const set = (name: string, value: string) => {
    const next = new URLSearchParams(params);
    next.set(name, value);
    if (name === "status") navigate(`/groups?${next}`);
    else setParams(next);
  };
  const open = (group: number) => navigate(`/groups/${group}?${params}`);
  const move = (by: number) => {
    const next = groups[groups.findIndex((group) => group.id === chosen) + by];
    if (next) open(next.id);
  };
  const turn = (by: number) => {
    const next = TABS[TABS.indexOf(status) + by];
    if (next) set("status", next);
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    "[": () => turn(-1),
    "]": () => turn(1),
    Enter: () => chosen && navigate(`/records?group=${chosen}&from=now-${range}`),
  });
  useEffect(() => {
    document.title = "Groups · dlqadmin";
  }, []);

  return (
    <>
      <PageHead
        title="Groups"
        note={first ? `${plural(first.total_records, "dead letter")} in ${plural(counts[status] ?? groups.length, "group")}, ${rangeWords(range)}. Same exception, stage and normalised message make one group.` : " "}
      >
        <Choice label="Time" value={range} options={RANGES} onChange={(next) => set("range", next)} />
        <MenuButton label={`Sort: ${sort.label} ▾`} items={SORTS.map((one) => ({ label: one.label, onClick: () => set("sort", one.value) }))} />
      </PageHead>
      <div style={{ marginBottom: 12 }}>
        <TabRow value={status} onChange={(next) => set("status", next)} items={TABS.map((tab) => ({ value: tab, label: tab[0]!.toUpperCase() + tab.slice(1), note: count(counts[tab] ?? 0) }))}>
          {first && (
            <span className="s t3 nw" style={{ alignSelf: "center" }}>
              {first.exact ? "Exact" : "Bounded"}, {took(first.took_ms)}.{" "}
              {fresh > 0 && <LinkButton onClick={() => void list.refetch()}>{plural(fresh, "new event")}: show</LinkButton>}
            </span>
          )}
        </TabRow>
      </div>
      <Panel label="Groups">
        {list.isPending && <Bones rows={6} height={42} />}
        {list.isError && !first && <Notice title="The groups did not come">{list.error.message}</Notice>}
        {first && groups.length === 0 && <Empty status={status} range={rangeWords(range)} />}
        {groups.length > 0 && <GroupTable groups={groups} chosen={chosen} range={range} onChoose={open} more={list.hasNextPage ? () => void list.fetchNextPage() : undefined} />}
      </Panel>
      {chosen && <GroupPanel id={chosen} range={range} />}
    </>
  );
}

function Empty({ status, range }: { status: string; range: string }) {
  if (status === "unresolved") return <Notice title={`No unresolved failures in ${range}`}>Everything that failed has been resolved or muted, or nothing failed.</Notice>;
  return <Notice title={`No ${status} groups in ${range}`}>Choose a longer time, or another tab.</Notice>;
}
