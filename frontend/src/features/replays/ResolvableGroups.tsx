import { useGroupsAct } from "../../api/groups";
import { useResolvable } from "../../api/replays";
import type { Replay } from "../../api/replayTypes";
import { useMayAct } from "../../api/session";
import { plural } from "../../lib/format";
import { replayName } from "../../lib/naming";
import { Button } from "../../ui/controls";

/** Groups whose replayed records all passed, each with a button to resolve it. */
export function ResolvableGroups({ replay }: { replay: Replay }) {
  const list = useResolvable(String(replay.id), replay.status === "done" && replay.counts.passed > 0);
  const act = useGroupsAct();
  const may = useMayAct();
  const resolve = (id: number, records: string) => {
    act.mutate(
      { groups: [id], act: "resolve", body: { reason: `all ${records} passed in ${replayName(replay.id)}` } },
      { onSuccess: () => void list.refetch() },
    );
  };
  return (
    <>
      {(list.data?.results ?? []).map((group) => {
        const records = plural(group.count, "record");
        return (
          <div key={group.id} className="row s" style={{ flexWrap: "wrap", marginBottom: 6 }} data-testid="resolvable">
            <span className="t2">
              All {records} of <b>{group.title}</b> that were sent passed, and none has failed since.
            </span>
            <Button
              small
              busy={act.isPending}
              barred={may.allowed ? undefined : may.reason}
              onClick={() => resolve(group.id, records)}
            >
              Resolve the group
            </Button>
          </div>
        );
      })}
      {act.error && (
        <p className="s" role="alert">
          {act.error.message}
        </p>
      )}
    </>
  );
}
