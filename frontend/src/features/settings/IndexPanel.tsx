import { NativeSelect } from "@mantine/core";
import { useState } from "react";
import type { IndexProgress, TopicProgress, TopicRule } from "../../api/clusters";
import { useMayNotAdminister } from "../../api/session";
import { recordsWith } from "../../lib/filter";
import { count, percent, plural, span } from "../../lib/format";
import { Link } from "react-router";
import { Button } from "../../ui/controls";
import controls from "../../ui/controls.module.css";
import { Meter, Notice, Panel, join } from "../../ui/Panel";
import { UnindexedTopics } from "../setup/UnindexedTopics";
import styles from "./Clusters.module.css";
import { TopicRuleDialog, type TopicQuestion } from "./TopicRuleDialog";
import { TopicRules } from "./TopicRules";

interface IndexPanelProps {
  index: IndexProgress;
  /** The clusters that are indexed. */
  clusters: readonly string[];
  /** Show the index of another cluster. */
  onCluster: (name: string) => void;
}

/** The indexed topics with the pattern or rule that names each, the indexer's progress, and what is excluded. */
export function IndexPanel({ index, clusters, onCluster }: IndexPanelProps) {
  const words = index.text.records_behind ?? 0;
  const barred = useMayNotAdminister();
  const [question, setQuestion] = useState<TopicQuestion | null>(null);
  const added = new Map(index.rules.filter((one) => one.rule === "added").map((one) => [one.topic, one]));
  return (
    <Panel
      label="Topics"
      title={
        <>
          <h2>Topics</h2>
          <span className="s t3">{plural(index.topics.length, "dead letter topic")} indexed</span>
        </>
      }
      aside={
        <>
          {clusters.length > 1 && (
            <NativeSelect
              size="xs"
              aria-label="Cluster of the topics"
              value={index.cluster}
              data={[...clusters]}
              onChange={(event) => onCluster(event.currentTarget.value)}
              classNames={{ input: controls.input! }}
            />
          )}
          <Button barred={barred} onClick={() => setQuestion({ topic: "", rule: "added" })}>
            Add topic…
          </Button>
        </>
      }
    >
      <div className={styles.indexNote}>
        <div className="s t2">
          Indexes <span className="mono b">{index.patterns.join(", ")}</span>, from the earliest record that a topic
          still has where nothing was read yet.{" "}
          {words > 0
            ? `Text search does not find the newest ${plural(words, "record")} yet.`
            : "Text search is up to date."}
        </div>
        <div className="s t3">
          Offsets also count transaction markers and deleted records, so there are more of them than dead letters.
        </div>
        {index.undecoded > 0 && (
          <div className="s t2">
            {plural(index.undecoded, "value")} with a schema {index.undecoded === 1 ? "is" : "are"} not decoded yet, so
            searches of members can miss {index.undecoded === 1 ? "it" : "them"}
            {index.undecoded_reason && `: ${index.undecoded_reason}`}.
          </div>
        )}
        {!index.reachable && (
          <div className="s warn">Kafka does not respond: end offsets are from its last response.</div>
        )}
        <UnindexedTopics index={index} />
      </div>
      {index.topics.length === 0 ? (
        <Notice title="No topic matches">
          {index.reachable
            ? "No topic on the cluster matches these patterns."
            : "Topics are not known until Kafka answers."}
        </Notice>
      ) : (
        <div className={styles.scroll} role="group" tabIndex={0} aria-label="Indexed topics">
          <table className={styles.table}>
            <thead>
              <tr>
                <th>Topic</th>
                <th className={styles.optional}>Named by</th>
                <th className={styles.optional}>Read as</th>
                <th className={join("num", styles.optional)}>Partitions</th>
                <th>Offsets read</th>
                <th className={join("num", styles.optional)}>Behind</th>
                <th className={join("num", styles.optional)}>By time</th>
                <th className={join("num", styles.optional)}>Rate</th>
                <th className="num">Done in</th>
                <th>
                  <span className="sr">Action</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {index.topics.map((one) => (
                <TopicProgressRow
                  key={one.topic}
                  one={one}
                  rule={added.get(one.topic)}
                  barred={barred}
                  onAsk={setQuestion}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <TopicRules index={index} barred={barred} onAsk={setQuestion} />
      <TopicRuleDialog
        cluster={index.cluster}
        question={question}
        suggestions={index.lookalikes}
        onClose={() => setQuestion(null)}
      />
    </Panel>
  );
}

function TopicProgressRow({
  one,
  rule,
  barred,
  onAsk,
}: {
  one: TopicProgress;
  rule: TopicRule | undefined;
  barred: string | undefined;
  onAsk: (question: TopicQuestion) => void;
}) {
  const unread = one.records_behind === 0 && one.eta_s === null;
  const done = one.records_behind === 0 && !unread;
  return (
    <tr data-testid="followed">
      <td>
        <Link to={recordsWith("topic", one.topic, "now-30d")} className="mono">
          {one.topic}
        </Link>
      </td>
      <td className={styles.optional}>
        {rule ? (
          <span title={rule.reason}>added by {rule.by}</span>
        ) : (
          <span className="t2">
            pattern: <span className="mono">{one.pattern}</span>
          </span>
        )}
      </td>
      <td className={styles.optional}>
        {one.reading ? (
          <>
            {one.reading.dialect}
            {one.reading.unreadable > 0 && (
              <div className="s warn">
                {count(one.reading.unreadable)} of the newest {count(one.reading.of)} unreadable
              </div>
            )}
          </>
        ) : (
          <span className="t3">–</span>
        )}
      </td>
      <td className={join("num", styles.optional)}>{count(one.partitions)}</td>
      <td>
        <span className={styles.progress}>
          <Meter part={one.of ? one.read / one.of : unread ? 0 : 1} colour={done ? "var(--passed)" : "var(--warn)"} />
          <span className="nw">
            {count(one.read)} of {count(one.of)}
            {!done && !unread && ` (${percent(one.read, one.of, 0)})`}
          </span>
        </span>
      </td>
      <td className={join("num", styles.optional, done || unread ? "t3" : "warn b")}>
        {unread ? "–" : count(one.records_behind)}
      </td>
      <td className={join("num", styles.optional)}>
        {done || unread ? <span className="t3">–</span> : span(1000 * one.seconds_behind)}
      </td>
      <td className={join("num", styles.optional)}>
        {one.rate === null || done ? (
          <span className="t3">{done || unread ? "–" : "measuring"}</span>
        ) : (
          `${count(Math.round(one.rate))}/s`
        )}
      </td>
      <td className="num">
        {done ? (
          <span className="passed">up to date</span>
        ) : one.eta_s === null ? (
          <span className="t3">{unread ? "not read yet" : "not known"}</span>
        ) : (
          `≈ ${span(1000 * one.eta_s)}`
        )}
      </td>
      <td className="num">
        <Button
          small
          barred={barred}
          onClick={() => onAsk({ topic: one.topic, rule: rule && one.pattern === null ? "default" : "excluded" })}
        >
          {rule && one.pattern === null ? "Remove…" : "Exclude…"}
        </Button>
      </td>
    </tr>
  );
}
