import { Checkbox, TextInput } from "@mantine/core";
import { useState } from "react";
import { useNavigate, useParams } from "react-router";
import { useDeleteConnector } from "../../api/connectorConfigs";
import { useConnectorAct, type ConnectorAct } from "../../api/connectors";
import { useMayAct, useMayEdit } from "../../api/session";
import type { Connector } from "../../api/types";
import { clusterTitle, connectorPage } from "../../lib/connectors";
import { Button } from "../../ui/controls";
import controls from "../../ui/controls.module.css";
import { ConfirmDialog } from "../../ui/Dialog";
import { MenuButton } from "../../ui/MenuButton";
import styles from "./Connectors.module.css";

type Act = ConnectorAct | "delete";

const WORDS: Record<Act, { yes: string; says: string }> = {
  pause: {
    yes: "Pause",
    says: "Its tasks finish their current work, commit offsets and stop reading. No records are lost. Lag grows until you resume it.",
  },
  resume: { yes: "Resume", says: "Its tasks continue from their committed offsets." },
  stop: {
    yes: "Stop",
    says: "Its tasks stop and release their resources. No records are lost. Lag grows until you resume it.",
  },
  restart: { yes: "Restart", says: "Its tasks continue from their committed offsets." },
  delete: {
    yes: "Delete",
    says: "Its tasks stop, and its cluster forgets its configuration. Its dead letters stay. Its committed offsets stay too: a new connector with this name continues there.",
  },
};
const REASON = "Reason";

export function ConnectorActions({ connector, reachable }: { connector: Connector; reachable: boolean }) {
  const may = useMayAct();
  const mayEdit = useMayEdit();
  const { name: shown } = useParams();
  const navigate = useNavigate();
  const control = useConnectorAct();
  const deletion = useDeleteConnector();
  const [asking, setAsking] = useState<Act | null>(null);
  const [typed, setTyped] = useState("");
  const [onlyFailed, setOnlyFailed] = useState(false);
  const away = reachable ? undefined : `${clusterTitle(connector.cluster)} does not respond`;
  const barred = !may.allowed ? may.reason : away;
  const barredFromEditing = !mayEdit.allowed ? mayEdit.reason : away;
  const held = connector.state === "PAUSED" || connector.state === "STOPPED";
  const turn: ConnectorAct = held ? "resume" : "pause";
  const byName = asking === "stop" || asking === "delete";
  const close = () => {
    setAsking(null);
    setTyped("");
    setOnlyFailed(false);
    control.reset();
    deletion.reset();
  };
  const key = { cluster: connector.cluster, name: connector.name };
  const confirm = (reason: string) => {
    if (asking === "delete")
      deletion.mutate(
        { ...key, reason },
        { onSuccess: () => (close(), shown !== undefined && navigate("/connectors")) },
      );
    else if (asking) control.mutate({ ...key, act: asking, onlyFailed, reason }, { onSuccess: close });
  };
  return (
    <>
      <span className={styles.actions}>
        <Button barred={barred} onClick={() => setAsking(turn)}>
          {WORDS[turn].yes}…
        </Button>
        <Button barred={barred} onClick={() => setAsking("restart")}>
          Restart…
        </Button>
        {barredFromEditing ? (
          <Button barred={barredFromEditing}>Edit…</Button>
        ) : (
          <Button to={`${connectorPage(connector)}/edit`}>Edit…</Button>
        )}
        {barred ? (
          <Button barred={barred}>More</Button>
        ) : (
          <MenuButton
            label="More"
            items={[
              ...(connector.state === "STOPPED" ? [] : [{ label: "Stop…", onClick: () => setAsking("stop") }]),
              { label: "Delete…", onClick: () => setAsking("delete") },
            ]}
          />
        )}
      </span>
      <ConfirmDialog
        open={asking !== null}
        title={asking ? `${WORDS[asking].yes} ${connector.name}` : ""}
        confirmLabel={asking ? WORDS[asking].yes : ""}
        inputLabel={REASON}
        required
        danger={byName}
        barred={byName && typed !== connector.name ? "Enter the connector's name first" : undefined}
        busy={control.isPending || deletion.isPending}
        error={control.error?.message ?? deletion.error?.message ?? null}
        onClose={close}
        onConfirm={confirm}
      >
        {asking && WORDS[asking].says}
        {asking === "restart" && connector.has_figures && " Their error tolerance counts reset."}
        {asking === "restart" && connector.shown.tasks.failed > 0 && (
          <Checkbox
            mt="sm"
            label="Restart only what failed"
            checked={onlyFailed}
            onChange={(event) => setOnlyFailed(event.currentTarget.checked)}
          />
        )}
        {byName && (
          <TextInput
            label={`Enter ${connector.name} to confirm`}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            data-autofocus
            autoComplete="off"
            mt="sm"
            classNames={{ label: controls.label!, input: controls.input! }}
          />
        )}
      </ConfirmDialog>
    </>
  );
}

export function RestartTask({
  connector: { cluster, name, has_figures },
  task,
  reachable,
}: {
  connector: Connector;
  task: number;
  reachable: boolean;
}) {
  const may = useMayAct();
  const act = useConnectorAct();
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Button
        small
        barred={!may.allowed ? may.reason : reachable ? undefined : `${clusterTitle(cluster)} does not respond`}
        onClick={() => setAsking(true)}
      >
        Restart…
      </Button>
      <ConfirmDialog
        open={asking}
        title={`Restart task ${task} of ${name}`}
        confirmLabel="Restart"
        inputLabel={REASON}
        required
        busy={act.isPending}
        error={act.error?.message ?? null}
        onClose={() => (setAsking(false), act.reset())}
        onConfirm={(reason) =>
          act.mutate({ cluster, name, act: "restart", task, reason }, { onSuccess: () => setAsking(false) })
        }
      >
        It continues from its committed offsets{has_figures && ", and its error tolerance counts reset"}.
      </ConfirmDialog>
    </>
  );
}
