import { useNavigate, useParams } from "react-router";
import { useConnectors } from "../../api/connectors";
import { useMayEdit } from "../../api/session";
import { ago, plural } from "../../lib/format";
import { useNow } from "../../lib/zone";
import { Button } from "../../ui/controls";
import { SkeletonRows, Notice, PageHead, Panel, Strip } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import { ConnectorCharts } from "./ConnectorCharts";
import { ConnectorPanel } from "./ConnectorPanel";
import styles from "./Connectors.module.css";
import { Nearest } from "./Nearest";

/** What every connector and task is doing, and how far each is from its limit. */
export function Connectors() {
  const { name } = useParams();
  const navigate = useNavigate();
  const { data, error, dataUpdatedAt, isError } = useConnectors();
  const now = useNow(5_000);
  useTitle("Connectors");
  const shown = data?.results.filter((connector) => name === undefined || connector.name === name) ?? [];
  const tasks = data?.results.reduce((sum, connector) => sum + connector.tasks.length, 0) ?? 0;
  return (
    <>
      <PageHead
        title={name ?? "Connectors"}
        note={
          data
            ? `${plural(data.results.length, "connector")}, ${plural(tasks, "task")}. Asked the engine ${ago(new Date(dataUpdatedAt).toISOString(), now)}.`
            : " "
        }
      >
        {name === undefined && <NewConnector reachable={data?.reachable ?? false} />}
        {name && <Button onClick={() => navigate("/connectors")}>All connectors</Button>}
      </PageHead>
      {data && (isError || !data.reachable) && (
        <Strip tone="warn">
          {data.trouble ?? "The engine is not reachable."} What follows is what it last reported
          {data.as_of ? `, ${ago(data.as_of, now)}` : ""}; changes are not possible until it answers.
        </Strip>
      )}
      {!data && (
        <Panel>
          {error ? (
            <Notice title="The connectors could not be loaded">{error.message}</Notice>
          ) : (
            <SkeletonRows rows={8} />
          )}
        </Panel>
      )}
      {data && shown.length === 0 && (
        <Panel>
          <Notice title={name ? "There is no such connector" : "No connectors"}>
            {name
              ? "It may have been deleted."
              : "Create one here, or give one to the engine: python -m engine run worker.properties --connector sink.properties"}
          </Notice>
        </Panel>
      )}
      <div className={styles.list}>
        {data && name === undefined && data.results.length > 0 && (
          <Nearest tasks={data.nearest} connectors={data.results} />
        )}
        {shown.map((connector) => (
          <ConnectorPanel
            key={connector.name}
            connector={connector}
            reachable={data?.reachable ?? false}
            open={name !== undefined}
          />
        ))}
        {name !== undefined && shown.length > 0 && <ConnectorCharts key={name} name={name} />}
      </div>
    </>
  );
}

function NewConnector({ reachable }: { reachable: boolean }) {
  const may = useMayEdit();
  const barred = !may.allowed ? may.reason : reachable ? undefined : "The engine is not reachable";
  return barred ? <Button barred={barred}>New connector…</Button> : <Button to="/new-connector">New connector…</Button>;
}
