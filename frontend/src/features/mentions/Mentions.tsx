import { useEffect } from "react";
import { Link } from "react-router";
import { useMarkMentionsSeen, useMentions, type Mention } from "../../api/ownership";
import { ago, dateMinute } from "../../lib/format";
import { useNow, useZone } from "../../lib/zone";
import { LoadError } from "../../ui/LoadError";
import { NoteText } from "../../ui/NoteText";
import { Avatar, Chip, Notice, PageHead, Panel, SkeletonRows } from "../../ui/Panel";
import { RefreshError } from "../../ui/RefreshError";
import { useTitle } from "../../ui/useTitle";
import styles from "./Mentions.module.css";

/** The notes that mention the user. Opening the screen marks them as seen. */
export function Mentions() {
  const { data, error, dataUpdatedAt, refetch } = useMentions();
  const { mutate } = useMarkMentionsSeen();
  const unseen = data?.unseen ?? 0;
  useEffect(() => {
    if (unseen > 0) mutate();
  }, [unseen, mutate]);
  useTitle("Mentions");
  return (
    <>
      <PageHead
        title="Mentions"
        note="Notes on groups that mention you with @ and your name. The newest 50 are shown."
      />
      {error && data && <RefreshError error={error} at={dataUpdatedAt} onAgain={() => void refetch()} />}
      <Panel label="Mentions">
        {!data && !error && <SkeletonRows rows={5} height={42} />}
        {!data && error && (
          <LoadError title="The mentions could not be loaded" error={error} onAgain={() => void refetch()} />
        )}
        {data?.results.length === 0 && (
          <Notice title="Nobody has mentioned you yet">
            A note on a group mentions you when it contains @ and your user name.
          </Notice>
        )}
        {data && data.results.length > 0 && (
          <ul className={styles.list}>
            {data.results.map((mention, index) => (
              <MentionRow key={`${mention.group} ${mention.at} ${index}`} mention={mention} />
            ))}
          </ul>
        )}
      </Panel>
    </>
  );
}

function MentionRow({ mention }: { mention: Mention }) {
  const { zone } = useZone();
  const now = useNow(60_000);
  return (
    <li data-testid="mention">
      <Avatar name={mention.actor} />
      <div>
        <div className={styles.head}>
          <b>{mention.actor}</b>
          <span className="s t3" title={dateMinute(mention.at, zone)}>
            {ago(mention.at, now)}
          </span>
          {!mention.seen && <Chip tone="accent">new</Chip>}
        </div>
        <p>
          <NoteText text={mention.text} />
        </p>
        <Link to={`/groups/${mention.group}`} className="s">
          {mention.title}
        </Link>
      </div>
    </li>
  );
}
