import type { IndexProgress, TopicProgress } from "../../api/clusters";
import { recordsWith } from "../../lib/filter";
import { count, percent, plural, span } from "../../lib/format";
import { Link } from "react-router";
import { Meter, Notice, Panel, join } from "../../ui/Panel";
import { UnindexedTopics } from "../setup/UnindexedTopics";
import styles from "./Clusters.module.css";

/** The indexed topics and the indexer's progress in each. */
export function IndexPanel({ index }: { index: IndexProgress }) {
  const words = index.text.records_behind ?? 0;
  return (
    <Panel
      label="Index"
      title={
        <>
          <h2>Index</h2>
          <span className="s t3">{plural(index.topics.length, "dead letter topic")} indexed</span>
        </>
      }
      aside={
        <span className="s t3">
          {words > 0
            ? `text search does not find the newest ${plural(words, "record")} yet`
            : "text search is up to date"}
        </span>
      }
    >
      <div className={styles.indexNote}>
        <div className="s t2">
          Indexes <span className="mono b">{index.patterns.join(", ")}</span>, from the earliest record that a topic
          still has where nothing was read yet.
        </div>
        <div className="s t3">
          Offsets also count transaction markers and deleted records, so there are more of them than dead letters.
        </div>
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
                <th className={join("num", styles.optional)}>Partitions</th>
                <th>Offsets read</th>
                <th className="num">Behind</th>
                <th className={join("num", styles.optional)}>By time</th>
                <th className={join("num", styles.optional)}>Rate</th>
                <th className="num">Done in</th>
              </tr>
            </thead>
            <tbody>
              {index.topics.map((one) => (
                <TopicProgressRow key={one.topic} one={one} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

function TopicProgressRow({ one }: { one: TopicProgress }) {
  const done = one.records_behind === 0;
  return (
    <tr data-testid="followed">
      <td>
        <Link to={recordsWith("topic", one.topic, "now-30d")} className="mono">
          {one.topic}
        </Link>
      </td>
      <td className={join("num", styles.optional)}>{count(one.partitions)}</td>
      <td>
        <span className={styles.progress}>
          <Meter part={one.of ? one.read / one.of : 1} colour={done ? "var(--passed)" : "var(--warn)"} />
          <span className="nw">
            {count(one.read)} of {count(one.of)}
            {!done && ` (${percent(one.read, one.of, 0)})`}
          </span>
        </span>
      </td>
      <td className={done ? "num t3" : "num warn b"}>{count(one.records_behind)}</td>
      <td className={join("num", styles.optional)}>
        {done ? <span className="t3">–</span> : span(1000 * one.seconds_behind)}
      </td>
      <td className={join("num", styles.optional)}>
        {one.rate === null || done ? (
          <span className="t3">{done ? "–" : "measuring"}</span>
        ) : (
          `${count(Math.round(one.rate))}/s`
        )}
      </td>
      <td className="num">
        {done ? (
          <span className="passed">up to date</span>
        ) : one.eta_s === null ? (
          <span className="t3">not known</span>
        ) : (
          `≈ ${span(1000 * one.eta_s)}`
        )}
      </td>
    </tr>
  );
}
