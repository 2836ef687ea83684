import { useRegroup } from "../../api/groups";
import { useMayWrite } from "../../api/session";
import type { Regrouping } from "../../api/types";
import { dateMinute, plural } from "../../lib/format";
import { useZone } from "../../lib/zone";
import { Button } from "../../ui/controls";

/** The merges and splits of a group, each with its undo button. */
export function Regroupings({ regroupings }: { regroupings: readonly Regrouping[] }) {
  const { zone } = useZone();
  return regroupings.map((regrouping) => (
    <p key={regrouping.id} className="s t2" data-testid="regrouping">
      {regroupingLabel(regrouping)} by <b>{regrouping.actor}</b>, {dateMinute(regrouping.at, zone)}.{" "}
      <UndoRegroupingButton regrouping={regrouping} />
    </p>
  ));
}

/** A button that undoes a merge or a split. */
export function UndoRegroupingButton({ regrouping, onDone }: { regrouping: Regrouping; onDone?: () => void }) {
  const may = useMayWrite();
  const undo = useRegroup();
  return (
    <>
      <Button
        small
        barred={may.allowed ? undefined : may.reason}
        busy={undo.isPending}
        onClick={() => undo.mutate({ act: "undo", regrouping: regrouping.id }, { onSuccess: () => onDone?.() })}
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

/** Describe a regrouping: "Merged earthquakes.nst is null into earthquakes.gap is null". */
export function regroupingLabel(regrouping: Regrouping): string {
  const [sources, targets] = [regrouping.sources, regrouping.targets].map((groups) =>
    groups.length > 3 ? plural(groups.length, "group") : groups.map((group) => group.title).join(", "),
  );
  return regrouping.kind === "merge" ? `Merged ${sources} into ${targets}` : `Split ${targets} off ${sources}`;
}
