import type { ReactNode } from "react";
import type { Connector } from "../../api/types";
import { ago, count, dateTime, span } from "../../lib/format";
import { useNow, useZone } from "../../lib/zone";
import { Facts, Strip } from "../../ui/Panel";

/** The warning that a query misses its reports. Its figures may then be outdated, and so may its state. */
export function SilentQuery({ connector }: { connector: Connector }) {
  const now = useNow(10_000);
  const { zone } = useZone();
  const run = connector.query;
  if (!run?.is_silent) return null;
  return (
    <Strip tone="warn">
      No report since {dateTime(run.reported_at, zone, now)}, {ago(run.reported_at, now)}. The query reported every{" "}
      {span(run.every_ms)} while it ran. Its driver may have ended, or it can&apos;t write to Kafka. All figures are
      those of its last report.
    </Strip>
  );
}

/** The run of a Spark query: what Spark calls it, since when it runs, and where. */
export function QueryRun({
  run,
  driver,
  more,
}: {
  run: NonNullable<Connector["query"]>;
  driver: string;
  more: [string, ReactNode][];
}) {
  const now = useNow(10_000);
  const { zone } = useZone();
  const rows: [string, ReactNode][] = [
    ["Query", run.is_stream ? "stream" : "batch job"],
    ["Started", run.started_at ? `${dateTime(run.started_at, zone, now)}, ${ago(run.started_at, now)}` : "not known"],
    ...(run.is_stream
      ? [["Last batch", run.batch === null ? "none yet" : count(run.batch)] as [string, ReactNode]]
      : []),
    ["Last report", ago(run.reported_at, now)],
    ["Driver", <Name key="d" text={driver} />],
    ["Run id", <Name key="r" text={run.run} />],
    ...more,
  ];
  return <Facts rows={rows} />;
}

function Name({ text }: { text: string }) {
  return text ? <span className="mono">{text}</span> : <span className="t3">not known</span>;
}
