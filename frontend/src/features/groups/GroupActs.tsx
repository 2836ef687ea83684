import { useState } from "react";
import { useGroupsAct, type GroupsAct } from "../../api/groups";
import { useMayWrite, useSession } from "../../api/session";
import type { Group } from "../../api/types";
import { plural } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { Button, ConfirmDialog } from "../../ui/controls";
import { MuteDialog } from "./MuteDialog";

interface Props {
  groups: readonly Group[];
  /** Whether the keys are meant for these. */
  heard: boolean;
  onDone?: () => void;
}

type Asking = "mute" | "resolve" | "reopen";

/** Mute, resolve, reopen and assign one group or several. */
export function GroupActs({ groups, heard, onDone }: Props) {
  const { data: session } = useSession();
  const may = useMayWrite();
  const act = useGroupsAct();
  const [asking, setAsking] = useState<Asking | null>(null);
  const barred = may.allowed ? undefined : may.reason;
  const ids = groups.map((group) => group.id);
  const mine = groups.every((group) => group.owner !== null && group.owner === session?.username);
  const shut = groups.some((group) => group.state === "muted" || group.state === "resolved");
  const unresolved = groups.some((group) => group.state !== "resolved");
  const what = groups.length === 1 ? "this group" : plural(groups.length, "group");
  const run = (wanted: GroupsAct) =>
    act.mutate({ groups: ids, ...wanted }, { onSuccess: () => (setAsking(null), onDone?.()) });
  const assign = () => run({ act: "assign", body: { username: mine ? null : (session?.username ?? null) } });
  const close = () => (setAsking(null), act.reset());
  useKeys({
    m: () => void (heard && !barred && unresolved && setAsking("mute")),
    a: () => void (heard && !barred && !act.isPending && assign()),
  });
  return (
    <>
      {act.error && asking === null && (
        <span className="s failed" role="alert">
          {act.error.message}
        </span>
      )}
      {unresolved && (
        <Button barred={barred} title="Mute (m)" onClick={() => setAsking("mute")}>
          Mute…
        </Button>
      )}
      {unresolved && (
        <Button barred={barred} onClick={() => setAsking("resolve")}>
          Resolve…
        </Button>
      )}
      {shut && (
        <Button barred={barred} onClick={() => setAsking("reopen")}>
          Reopen…
        </Button>
      )}
      <Button barred={barred} busy={act.isPending} title="Assign to me (a)" onClick={assign}>
        {mine ? "Unassign" : "Assign to me"}
      </Button>
      <MuteDialog
        open={asking === "mute"}
        what={what}
        busy={act.isPending}
        error={act.error?.message ?? null}
        onClose={close}
        onYes={(until, reason) => run({ act: "mute", body: { ...until, reason } })}
      />
      <ConfirmDialog
        open={asking === "resolve" || asking === "reopen"}
        title={`${asking === "reopen" ? "Reopen" : "Resolve"} ${what}`}
        inputLabel="Reason"
        required
        confirmLabel={asking === "reopen" ? "Reopen" : "Resolve"}
        busy={act.isPending}
        error={act.error?.message ?? null}
        onClose={close}
        onConfirm={(reason) => (asking === "resolve" || asking === "reopen") && run({ act: asking, body: { reason } })}
      >
        {asking === "resolve" &&
          "It moves to the resolved groups. A new record with the same failure marks it as regressed and moves it back."}
      </ConfirmDialog>
    </>
  );
}
