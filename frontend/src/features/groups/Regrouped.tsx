import { useRegroup } from "../../api/groups";
import { useMayWrite } from "../../api/session";
import type { Regrouping } from "../../api/types";
import { dateMinute, plural } from "../../lib/format";
import { useZone } from "../../lib/zone";
import { Button } from "../../ui/controls";

/** What made the group what it is, each with its undo. */
export function Regroupings({ all }: { all: readonly Regrouping[] }) {
  const { zone } = useZone();
  return all.map((one) => (
    <p key={one.id} className="s t2" data-testid="regrouping">
      {words(one)} by <b>{one.actor}</b>, {dateMinute(one.at, zone)}. <Undo done={one} />
    </p>
  ));
}

/** Takes a merge or a split back. */
export function Undo({ done, onDone }: { done: Regrouping; onDone?: () => void }) {
  const may = useMayWrite();
  const undo = useRegroup();
  return (
    <>
      <Button
        small
        barred={may.allowed ? undefined : may.reason}
        busy={undo.isPending}
        onClick={() => undo.mutate({ act: "undo", regrouping: done.id }, { onSuccess: () => onDone?.() })}
      >
        Undo
      </Button>
      {undo.error && (
        <span className="failed" role="alert">
          {" "}
          {undo.error.message}
        </span>
      )}
    </>
  );
}

/** "Merged earthquakes.nst is null into earthquakes.gap is null". */
export function words(done: Regrouping): string {
  const [sources, targets] = [done.sources, done.targets].map((groups) =>
    groups.length > 3 ? plural(groups.length, "group") : groups.map((group) => group.title).join(", "),
  );
  return done.kind === "merge" ? `Merged ${sources} into ${targets}` : `Split ${targets} off ${sources}`;
}
