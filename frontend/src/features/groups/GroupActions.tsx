import { useState } from "react";
import { useGroupsAct, type GroupsAct } from "../../api/groups";
import { useMayAct, useSession } from "../../api/session";
import type { Group } from "../../api/types";
import { plural } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { workLeft } from "../../lib/work";
import { Button } from "../../ui/controls";
import { ConfirmDialog } from "../../ui/Dialog";
import { AssignDialog } from "./AssignDialog";
import { MuteDialog } from "./MuteDialog";

interface Props {
  groups: readonly Group[];
  /** Whether the keyboard shortcuts act on these groups. */
  hasShortcuts: boolean;
  onDone?: () => void;
}

type OpenDialog = "mute" | "resolve" | "reopen" | "assign";

/** Buttons to mute, resolve, reopen and assign one or more groups. */
export function GroupActions({ groups, hasShortcuts, onDone }: Props) {
  const { data: session } = useSession();
  const may = useMayAct();
  const act = useGroupsAct();
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const barred = may.allowed ? undefined : may.reason;
  const ids = groups.map((group) => group.id);
  const isMine = groups.every((group) => group.owner !== null && group.owner === session?.username);
  const canReopen = groups.some((group) => group.state === "muted" || group.state === "resolved");
  const canResolve = groups.some((group) => group.state !== "resolved");
  const isDone = groups.length > 0 && groups.every((group) => group.all_closed);
  const subject = groups.length === 1 ? "this group" : plural(groups.length, "group");
  const run = (wanted: GroupsAct) =>
    act.mutate({ groups: ids, ...wanted }, { onSuccess: () => (setDialog(null), onDone?.()) });
  const assign = () => run({ act: "assign", body: { username: isMine ? null : (session?.username ?? null) } });
  const close = () => (setDialog(null), act.reset());
  useKeys({
    m: () => void (hasShortcuts && !barred && canResolve && setDialog("mute")),
    a: () => void (hasShortcuts && !barred && !act.isPending && assign()),
  });
  return (
    <>
      {act.error && dialog === null && (
        <span className="s failed" role="alert">
          {act.error.message}
        </span>
      )}
      {canResolve && (
        <Button barred={barred} title="Mute (m)" onClick={() => setDialog("mute")}>
          Mute…
        </Button>
      )}
      {canResolve && (
        <Button
          kind={isDone ? "primary" : "default"}
          barred={barred ?? workLeft(groups)}
          onClick={() => setDialog("resolve")}
        >
          Resolve…
        </Button>
      )}
      {canReopen && (
        <Button barred={barred} onClick={() => setDialog("reopen")}>
          Reopen…
        </Button>
      )}
      <Button barred={barred} busy={act.isPending} title="Assign to me (a)" onClick={assign}>
        {isMine ? "Unassign" : "Assign to me"}
      </Button>
      <Button barred={barred} onClick={() => setDialog("assign")}>
        Assign…
      </Button>
      {dialog === "assign" && (
        <AssignDialog
          subject={subject}
          busy={act.isPending}
          error={act.error?.message ?? null}
          onClose={close}
          onAssign={(body) => run({ act: "assign", body })}
        />
      )}
      <MuteDialog
        open={dialog === "mute"}
        subject={subject}
        busy={act.isPending}
        error={act.error?.message ?? null}
        onClose={close}
        onConfirm={(until, reason) => run({ act: "mute", body: { ...until, reason } })}
      />
      <ConfirmDialog
        open={dialog === "resolve" || dialog === "reopen"}
        title={`${dialog === "reopen" ? "Reopen" : "Resolve"} ${subject}`}
        inputLabel="Reason"
        required
        confirmLabel={dialog === "reopen" ? "Reopen" : "Resolve"}
        busy={act.isPending}
        error={act.error?.message ?? null}
        onClose={close}
        onConfirm={(reason) => (dialog === "resolve" || dialog === "reopen") && run({ act: dialog, body: { reason } })}
      >
        {dialog === "resolve" &&
          "It moves to the resolved groups. A new record with the same failure marks it as regressed and moves it back."}
      </ConfirmDialog>
    </>
  );
}
