import type { Replay } from "../../api/replayTypes";
import { count, plural } from "../../lib/format";
import { Panel } from "../../ui/Panel";
import tables from "../../ui/tables.module.css";

/** The canary's steps with their outcomes, the reason why it stopped, and the effect of resuming. */
export function CanaryPanel({ replay }: { replay: Replay }) {
  const { canary, steps, step, breaker_percent: breaker } = replay;
  if (steps.length === 0) return null;
  const past = step >= steps.length;
  return (
    <Panel
      label="Canary"
      title={
        <>
          <h2>Canary</h2>
          <span className="s t2">
            {breaker === null
              ? "an unknown outcome is not a pass"
              : `an unknown outcome is not a pass; it pauses when more than ${breaker} % fail again`}
          </span>
        </>
      }
    >
      <div className={tables.scroll} tabIndex={0} role="group" aria-label="Steps of the canary">
        <table className={tables.compact} style={{ width: "100%" }}>
          <thead>
            <tr>
              <th>Step</th>
              <th className="num">Sent</th>
              <th className="num">Passed</th>
              <th className="num">Failed again</th>
              <th className="num">Unknown</th>
              <th className="num">Waiting</th>
              <th>Then</th>
            </tr>
          </thead>
          <tbody>
            {steps.map((size, at) => {
              const here = at === step && canary ? canary : null;
              return (
                <tr key={at} aria-current={here ? "step" : undefined}>
                  <td>
                    <b>{count(size)}</b>
                  </td>
                  {here ? (
                    [here.sent, here.passed, here.failed_again, here.unknown, here.waiting].map((figure, place) => (
                      <td key={place} className="num">
                        {count(figure)}
                      </td>
                    ))
                  ) : (
                    <>
                      <td className="num">{at < step ? count(size) : ""}</td>
                      <td colSpan={4} />
                    </>
                  )}
                  <td>
                    {at < step ? (
                      "continued"
                    ) : here ? (
                      here.stopped ? (
                        <b className="failed">stopped: {replay.trouble || "the step did not pass"}</b>
                      ) : here.sent < here.size ? (
                        "sending"
                      ) : (
                        "awaiting outcomes"
                      )
                    ) : (
                      "not yet"
                    )}
                  </td>
                </tr>
              );
            })}
            <tr>
              <td>
                <b>Rest</b>
              </td>
              <td colSpan={5} />
              <td>
                {past
                  ? replay.counts.queued > 0
                    ? `${plural(replay.counts.queued, "record")} left`
                    : "sent"
                  : "not yet"}
              </td>
            </tr>
          </tbody>
        </table>
      </div>
      {replay.status === "paused" && replay.resuming && (
        <p className="s t2" style={{ margin: 0, padding: "8px 16px 12px" }} data-testid="resuming">
          Resuming {replay.resuming}.
        </p>
      )}
    </Panel>
  );
}
