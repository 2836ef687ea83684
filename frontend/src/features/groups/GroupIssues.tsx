import { useState } from "react";
import { useIssueAct, useTrackers, type Tracker } from "../../api/ownership";
import { newIdempotencyKey } from "../../api/replays";
import { useMayAct } from "../../api/session";
import type { GroupDetail } from "../../api/types";
import { fillTemplate, pageAddress } from "../../lib/pageAddress";
import { Button } from "../../ui/controls";
import controls from "../../ui/controls.module.css";
import { join } from "../../ui/Panel";
import styles from "./Groups.module.css";
import { LinkIssueDialog } from "./LinkIssueDialog";

/** The issues that a group is linked to, with ways to link, open and create others. */
export function GroupIssues({ group }: { group: GroupDetail }) {
  const { data: trackers } = useTrackers();
  const act = useIssueAct(group.id);
  const may = useMayAct();
  const barred = may.allowed ? undefined : may.reason;
  const [linked, setLinked] = useState<{ tracker: string | null } | null>(null);
  const issues = group.issues ?? [];
  return (
    <section className={styles.issues} aria-label="Issues">
      <h3>Issues</h3>
      {issues.length === 0 && <p className="s t3">No issue is linked.</p>}
      <ul>
        {issues.map((issue) => (
          <li key={issue.id}>
            <PageLink text={issue.name} address={issue.url} />
            <span className="s t3">{issue.actor}</span>
            <span className="sp" />
            <Button
              small
              kind="quiet"
              barred={barred}
              busy={act.isPending}
              onClick={() => act.mutate({ act: "unlink", issue: issue.id })}
            >
              Remove<span className="sr"> the link to {issue.name}</span>
            </Button>
          </li>
        ))}
      </ul>
      <div className={join("row", styles.issueActions)}>
        <Button small barred={barred} onClick={() => setLinked({ tracker: null })}>
          Link an issue…
        </Button>
        {trackers?.results.map((tracker) => (
          <TrackerButtons
            key={tracker.id}
            tracker={tracker}
            group={group}
            barred={barred}
            act={act}
            onOpened={() => setLinked({ tracker: tracker.name })}
          />
        ))}
      </div>
      {act.error && (
        <p className="s failed" role="alert">
          {act.error.message}
        </p>
      )}
      {linked && <LinkIssueDialog group={group.id} tracker={linked.tracker} onClose={() => setLinked(null)} />}
    </section>
  );
}

function PageLink({ text, address }: { text: string; address: string }) {
  const href = pageAddress(address);
  if (!href) return <span>{text}</span>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer" title={href}>
      {text}
    </a>
  );
}

/** Opens a tracker's form for a new issue, or lets the tracker's webhook create the issue. */
function TrackerButtons({
  tracker,
  group,
  barred,
  act,
  onOpened,
}: {
  tracker: Tracker;
  group: GroupDetail;
  barred: string | undefined;
  act: ReturnType<typeof useIssueAct>;
  onOpened: () => void;
}) {
  // A click after an error repeats the same request, so the key changes only after a success.
  const [key, setKey] = useState(newIdempotencyKey);
  const href = fillTemplate(tracker.template, {
    title: group.title,
    message: group.message,
    group: String(group.id),
    topic: group.topics.join(", "),
    connector: group.connectors.join(", "),
    link: `${location.origin}/groups/${group.id}`,
  });
  const create = () =>
    act.mutate({ act: "create", tracker: tracker.id, key }, { onSuccess: () => setKey(newIdempotencyKey()) });
  const label = `New issue in ${tracker.name}`;
  return (
    <>
      {barred || !href ? (
        <Button small barred={barred ?? "The template is not the address of a page"}>
          {label}
        </Button>
      ) : (
        <a
          className={join(controls.button, controls.small, styles.trackerLink)}
          href={href}
          target="_blank"
          rel="noopener noreferrer"
          onClick={onOpened}
        >
          {label} <span aria-hidden="true">↗</span>
          <span className="sr"> in a new tab</span>
        </a>
      )}
      {tracker.channel !== null && (
        <Button small barred={barred} busy={act.isPending} onClick={create}>
          Create in {tracker.name}
        </Button>
      )}
    </>
  );
}
