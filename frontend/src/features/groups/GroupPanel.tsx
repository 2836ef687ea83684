import { useState } from "react";
import { useGroup, useGroupAct, type GroupAct } from "../../api/groups";
import { useMayWrite, useSession } from "../../api/session";
import type { GroupDetail } from "../../api/types";
import { count } from "../../lib/format";
import { shortClass } from "../../lib/stages";
import { Button, Confirm } from "../../ui/controls";
import { Bones, Notice, Panel } from "../../ui/Panel";
import { ReplayButton } from "../plan/ReplayButton";
import { History } from "./History";
import styles from "./Groups.module.css";
import { State } from "./GroupTable";
import { Shared } from "./Shared";
import { Why } from "./Why";

/** One group: why its records are one, what they share, what was done. */
export function GroupPanel({ id, range }: { id: number; range: string }) {
  const { data: group, error } = useGroup(id);
  if (!group) return <Panel className={styles.detail}>{error ? <Notice title="This group did not come">{error.message}</Notice> : <Bones rows={5} />}</Panel>;
  return (
    <Panel
      className={styles.detail}
      label="Chosen group"
      title={<><b>{shortClass(group.exception_class)}</b><span className="mono t2 cut" style={{ maxWidth: 480 }}>{group.message}</span><State state={group.state} /></>}
      aside={<Actions group={group} range={range} />}
    >
      <div className={styles.columns}>
        <Why group={group} />
        <Shared group={group} />
        <History group={group} />
      </div>
    </Panel>
  );
}

function Actions({ group, range }: { group: GroupDetail; range: string }) {
  const { data: session } = useSession();
  const may = useMayWrite();
  const act = useGroupAct(group.id);
  const [asking, setAsking] = useState<"resolve" | "reopen" | null>(null);
  const barred = may.allowed ? undefined : may.reason;
  const closed = group.state === "resolved";
  const mine = group.owner !== null && group.owner === session?.username;
  const run = (what: GroupAct) => act.mutate(what, { onSuccess: () => setAsking(null) });
  return (
    <>
      <Button barred={barred} onClick={() => run({ act: "assign", body: { username: mine ? null : (session?.username ?? null) } })}>
        {mine ? "Give back" : "Assign to me"}
      </Button>
      <Button barred={barred} onClick={() => setAsking(closed ? "reopen" : "resolve")}>{closed ? "Reopen…" : "Resolve…"}</Button>
      <Button to={`/records?group=${group.id}&from=now-${range}`}>Open {count(group.events)} records</Button>
      <ReplayButton primary what={{ filter: `group=${group.id}&from=now-${range}&to=now` }}>Replay {count(group.events)}…</ReplayButton>
      <Confirm
        open={asking !== null}
        title={asking === "reopen" ? "Reopen this group" : "Resolve this group"}
        asks="Reason"
        required
        yes={asking === "reopen" ? "Reopen" : "Resolve"}
        busy={act.isPending}
        error={act.error?.message ?? null}
        onClose={() => setAsking(null)}
        onYes={(reason) => asking && run({ act: asking, body: { reason } })}
      >
        {asking === "resolve" && "It leaves the unresolved ones. A new record of the same failure makes it regressed and brings it back."}
      </Confirm>
    </>
  );
}
