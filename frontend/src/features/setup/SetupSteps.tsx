import type { ReactNode } from "react";
import { Link } from "react-router";
import type { ClusterList } from "../../api/clusters";
import { plural } from "../../lib/format";
import { Glyph } from "../../ui/Panel";
import { CopyField } from "../../ui/CopyField";
import { UnindexedTopics } from "./UnindexedTopics";
import { topicSetting } from "./topicSetting";
import styles from "./Setup.module.css";

/** The three setup steps and their progress, shown until the first dead letter is indexed. */
export function SetupSteps({ clusters: { results, index } }: { clusters: ClusterList }) {
  const own = results.find((one) => one.own);
  const found = index.topics.length;
  const isRead = index.topics.some((topic) => topic.of > 0 || topic.read > 0);
  return (
    <div className={styles.steps} role="status">
      <strong>{isRead || found > 0 ? "No dead letter was indexed yet" : "No topics are indexed yet"}</strong>
      <ol>
        <SetupStep done={index.reachable} title="Connect to Kafka">
          {index.reachable ? (
            <>{own?.bootstrap_servers.join(", ")} answers.</>
          ) : (
            <>
              {own?.bootstrap_servers.join(", ")} does not respond: set KAFKA_BOOTSTRAP_SERVERS, and see{" "}
              <Link to="/settings/clusters">Settings</Link> for why.
            </>
          )}
        </SetupStep>
        <SetupStep done={found > 0} title="Name the dead letter topics">
          {found > 0
            ? `${plural(found, "topic")} indexed: ${index.topics
                .slice(0, 5)
                .map((one) => one.topic)
                .join(", ")}${found > 5 ? ", …" : ""}.`
            : "None of the topics there matches. The setting takes names and regular expressions:"}
          {found === 0 && index.lookalikes.length === 0 && (
            <CopyField label="the setting" text={topicSetting(index.patterns, [])} />
          )}
          <UnindexedTopics index={index} />
        </SetupStep>
        <SetupStep done={isRead} title="Run the indexer">
          {isRead ? (
            "The indexer has read the topics. They contain no dead letters."
          ) : (
            <>
              The indexer reads the topics from the beginning and then follows new records:
              <CopyField label="the command" text="python manage.py index_deadletters" />
            </>
          )}
        </SetupStep>
      </ol>
    </div>
  );
}

function SetupStep({ done, title, children }: { done: boolean; title: string; children: ReactNode }) {
  return (
    <li>
      <Glyph tone={done ? "passed" : "waiting"} large>
        {done ? "✓" : "·"}
      </Glyph>
      <div>
        <b>{title}</b>
        <span className="sr">{done ? " (done)" : " (to do)"}</span>
        <div className="s t2">{children}</div>
      </div>
    </li>
  );
}
