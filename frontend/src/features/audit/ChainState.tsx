import { useHealth } from "../../api/health";
import { span } from "../../lib/format";
import { Strip } from "../../ui/Panel";

/** The periodic task seals entries within a few seconds. */
const LATE_SEAL_S = 60;

/** Says whether new entries are sealed and sent to the external target. It does not verify old entries. */
export function ChainState() {
  const trail = useHealth().data?.audit;
  if (!trail) return null;
  if (trail.unsealed_seconds > LATE_SEAL_S)
    return (
      <Strip tone="warn">
        The oldest entry without a seal is {span(trail.unsealed_seconds * 1000)} old. Start Celery&apos;s beat and
        worker.
      </Strip>
    );
  if (trail.shipping_trouble)
    return <Strip tone="warn">Entries could not be sent to the external target: {trail.shipping_trouble}</Strip>;
  return null;
}
