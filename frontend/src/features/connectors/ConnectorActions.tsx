import { useState } from "react";
import { useConnectorAct, type ConnectorAct } from "../../api/connectors";
import { useMayAct } from "../../api/session";
import type { Connector } from "../../api/types";
import { Button } from "../../ui/controls";
import { ConfirmDialog } from "../../ui/Dialog";

const WORDS: Record<ConnectorAct, { yes: string; says: string }> = {
  pause: {
    yes: "Pause",
    says: "Its tasks finish their current work, commit offsets and stop reading. No records are lost. Lag grows until you resume it.",
  },
  resume: { yes: "Resume", says: "Its tasks continue from their committed offsets." },
  stop: {
    yes: "Stop",
    says: "Its tasks stop and release their resources. No records are lost. Lag grows until you resume it.",
  },
  restart: { yes: "Restart", says: "Its tasks restart and their error tolerance counts reset." },
};

export function ConnectorActions({ connector, reachable }: { connector: Connector; reachable: boolean }) {
  const may = useMayAct();
  const act = useConnectorAct();
  const [asking, setAsking] = useState<ConnectorAct | null>(null);
  const barred = !may.allowed ? may.reason : reachable ? undefined : "The engine is not reachable";
  const held = connector.state === "PAUSED" || connector.state === "STOPPED";
  const turn: ConnectorAct = held ? "resume" : "pause";
  return (
    <>
      <Button barred={barred} onClick={() => setAsking(turn)}>
        {WORDS[turn].yes}…
      </Button>
      <Button barred={barred} onClick={() => setAsking("restart")}>
        Restart…
      </Button>
      <ConfirmDialog
        open={asking !== null}
        title={asking ? `${WORDS[asking].yes} ${connector.name}` : ""}
        inputLabel="Reason"
        required
        confirmLabel={asking ? WORDS[asking].yes : ""}
        busy={act.isPending}
        error={act.error?.message ?? null}
        onClose={() => (setAsking(null), act.reset())}
        onConfirm={(reason) =>
          asking && act.mutate({ name: connector.name, act: asking, reason }, { onSuccess: () => setAsking(null) })
        }
      >
        {asking && WORDS[asking].says}
      </ConfirmDialog>
    </>
  );
}

export function RestartTask({ name, task, reachable }: { name: string; task: number; reachable: boolean }) {
  const may = useMayAct();
  const act = useConnectorAct();
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Button
        small
        barred={!may.allowed ? may.reason : reachable ? undefined : "The engine is not reachable"}
        onClick={() => setAsking(true)}
      >
        Restart…
      </Button>
      <ConfirmDialog
        open={asking}
        title={`Restart task ${task} of ${name}`}
        inputLabel="Reason"
        required
        confirmLabel="Restart"
        busy={act.isPending}
        error={act.error?.message ?? null}
        onClose={() => (setAsking(false), act.reset())}
        onConfirm={(reason) =>
          act.mutate({ name, act: "restart", task, reason }, { onSuccess: () => setAsking(false) })
        }
      >
        It continues from its committed offsets, and its error tolerance counts reset.
      </ConfirmDialog>
    </>
  );
}
