import { useState } from "react";
import { useTrackers, type Tracker } from "../../api/ownership";
import { Button } from "../../ui/controls";
import { LoadError } from "../../ui/LoadError";
import { Notice, Panel, SkeletonRows, join } from "../../ui/Panel";
import tables from "../../ui/tables.module.css";
import styles from "./Ownership.module.css";
import { TrackerDialog, type TrackerQuestion } from "./TrackerDialog";

/** The issue trackers, with ways to add, change and remove them. */
export function IssueTrackers({ barred }: { barred: string | undefined }) {
  const { data, error, refetch } = useTrackers();
  const [question, setQuestion] = useState<TrackerQuestion | null>(null);
  return (
    <Panel
      label="Issue trackers"
      title="Issue trackers"
      aside={
        <Button barred={barred} onClick={() => setQuestion({ tracker: null, remove: false })}>
          Add tracker…
        </Button>
      }
    >
      {!data && !error && <SkeletonRows rows={3} />}
      {!data && error && (
        <LoadError title="The trackers could not be loaded" error={error} onAgain={() => void refetch()} />
      )}
      {data?.results.length === 0 && (
        <Notice title="No issue tracker yet">
          With a tracker, groups have a button that opens the form for a new issue, filled with the facts of the group.
        </Notice>
      )}
      {data && data.results.length > 0 && (
        <table className={join(tables.compact, tables.cards, styles.trackers)}>
          <thead>
            <tr>
              <th>Name</th>
              <th>Template</th>
              <th>Webhook</th>
              <th>
                <span className="sr">Action</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {data.results.map((tracker) => (
              <TrackerRow key={tracker.id} tracker={tracker} barred={barred} onAsk={setQuestion} />
            ))}
          </tbody>
        </table>
      )}
      {question && <TrackerDialog question={question} onClose={() => setQuestion(null)} />}
    </Panel>
  );
}

function TrackerRow({
  tracker,
  barred,
  onAsk,
}: {
  tracker: Tracker;
  barred: string | undefined;
  onAsk: (question: TrackerQuestion) => void;
}) {
  return (
    <tr data-testid="tracker">
      <td className="b">{tracker.name}</td>
      <td className={join("mono", styles.template)}>{tracker.template}</td>
      <td>{tracker.channel_name ?? <span className="t3">none</span>}</td>
      <td className={styles.order}>
        <Button small barred={barred} onClick={() => onAsk({ tracker, remove: false })}>
          Change…<span className="sr"> {tracker.name}</span>
        </Button>
        <Button small barred={barred} onClick={() => onAsk({ tracker, remove: true })}>
          Remove…<span className="sr"> {tracker.name}</span>
        </Button>
      </td>
    </tr>
  );
}
