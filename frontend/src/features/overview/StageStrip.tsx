import { Link, useSearchParams } from "react-router";
import { useConnectors } from "../../api/connectors";
import { useBalance, useStageFlow } from "../../api/metrics";
import { reporterName } from "../../lib/connectors";
import { recordsWith } from "../../lib/filter";
import { ALL_TIME } from "../../lib/ranges";
import { count, plural } from "../../lib/format";
import { shortClass, stageColour } from "../../lib/stages";
import { Choice } from "../../ui/controls";
import { SkeletonRows, Meter, Notice, Panel, join } from "../../ui/Panel";
import styles from "./Overview.module.css";

/** Where the records of one connector fail, stage by stage. */
export function StageStrip() {
  const [params, setParams] = useSearchParams();
  const { data: connectors } = useConnectors();
  const { data: balance } = useBalance();
  const names = connectors?.results.filter((one) => one.has_figures).map(reporterName) ?? [];
  const busiest = [...(balance?.connectors ?? [])].sort(
    (a, b) => b.dead_lettered - a.dead_lettered || b.consumed - a.consumed,
  )[0]?.name;
  const chosen = params.get("connector") ?? busiest ?? names[0];
  const { data, error } = useStageFlow(chosen);
  const failing = data?.stages.filter((stage) => stage.failed > 0) ?? [];
  const worst = Math.max(1, ...failing.map((stage) => stage.failed));
  return (
    <Panel
      className={styles.gap}
      title={
        <>
          <h2>Failures by stage</h2>
          {data?.connector && <span className="s t3">{data.connector}, stage by stage, since the start</span>}
        </>
      }
      aside={
        <>
          {failing.length > 0 && (
            <span className="s t3">
              {[...failing]
                .sort((a, b) => b.failed - a.failed)
                .map((stage) => count(stage.failed))
                .join(" + ")}
              {failing.length > 1 && ` = ${count(data?.total_failed)}`}
            </span>
          )}
          {names.length > 1 && names.length < 6 && chosen && (
            <Choice
              label="Connector"
              value={chosen}
              options={names.map((name) => ({ value: name, label: name }))}
              onChange={(next) => setParams((before) => (before.set("connector", next), new URLSearchParams(before)))}
            />
          )}
        </>
      }
    >
      {!data && connectors && balance && !chosen && (
        <Notice title="No connector has reported yet">Stages appear after the first report.</Notice>
      )}
      {!data &&
        (chosen || !connectors || !balance) &&
        (error ? (
          <Notice title="The stages are not known">{error.message}</Notice>
        ) : (
          <SkeletonRows rows={1} height={78} />
        ))}
      {data && data.stages.length === 0 && (
        <Notice title="No stages yet">This connector has not reported a pipeline.</Notice>
      )}
      {data && data.stages.length > 0 && (
        <div className={styles.stages}>
          {data.stages.map((stage) => {
            const body = (
              <>
                <div className={join(styles.type, "cut")}>{stage.type}</div>
                <div className="s b cut" title={stage.class ?? undefined}>
                  {stage.type.startsWith("KAFKA_")
                    ? (stage.class ?? stage.type)
                    : shortClass(stage.class ?? stage.type)}
                </div>
                <span className={styles.meter}>
                  <Meter part={stage.failed / worst} colour={stageColour(stage.type)} height={4} />
                </span>
                <div className="row s" style={{ flexWrap: "wrap", gap: "0 8px" }}>
                  <span className="t3 nw">{count(stage.in)} in</span>
                  <span className="sp" />
                  {stage.failed > 0 ? (
                    <b className="failed nw">{count(stage.failed)} failed</b>
                  ) : (
                    <span className="t3 nw">0 failed</span>
                  )}
                </div>
              </>
            );
            return stage.failed > 0 ? (
              <Link
                key={stage.index}
                className={join(styles.stage, styles.bad)}
                to={recordsWith("stage", stage.type, ALL_TIME)}
                title={`${plural(stage.failed, "record")} failed here`}
              >
                {body}
              </Link>
            ) : (
              <div key={stage.index} className={styles.stage}>
                {body}
              </div>
            );
          })}
        </div>
      )}
    </Panel>
  );
}
