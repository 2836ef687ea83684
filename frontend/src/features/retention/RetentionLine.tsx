import { useGroupRetention } from "../../api/retention";
import { retentionSummary } from "../../lib/retention";
import { useNow } from "../../lib/zone";

/** One line about the time until Kafka deletes a group's records. */
export function RetentionLine({ group }: { group: number }) {
  const { data } = useGroupRetention(group);
  const now = useNow(10_000);
  if (!data) return null;
  const of = data.complete ? "" : " Of its oldest thousand.";
  return (
    <p
      className="s t2"
      data-testid="group-retention"
      title="Earliest deletion times, from the topics’ retention. Kafka deletes whole segments. Indexed records keep their bytes here."
    >
      <b>In Kafka:</b> {retentionSummary(data.dead_letters, "dead letter", now)};{" "}
      {retentionSummary(data.origins, "origin record", now)}.{of}
    </p>
  );
}
