import { Link, useParams, useSearchParams } from "react-router";
import { useConnectors } from "../../api/connectors";
import { useTopic } from "../../api/topics";
import type { TopicDetail } from "../../api/types";
import { connectorLabel, connectorPage } from "../../lib/connectors";
import { recordsWith } from "../../lib/filter";
import { count, plural } from "../../lib/format";
import { ALL_TIME } from "../../lib/ranges";
import { topicReadQuery } from "../../lib/topicRead";
import { Button } from "../../ui/controls";
import { LoadError } from "../../ui/LoadError";
import { Chip, Notice, PageHead, Panel, SkeletonRows } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import { TopicCharts } from "./TopicCharts";
import { TopicReadForm } from "./TopicReadForm";
import { TopicRecordList } from "./TopicRecordList";
import styles from "./Topics.module.css";

/** One topic: its records, and how many were written and failed over time. */
export function Topic() {
  const { name = "" } = useParams();
  const [params] = useSearchParams();
  const cluster = params.get("cluster") ?? "";
  const { data: topic, error, refetch } = useTopic(name, cluster);
  useTitle(name);
  return (
    <>
      <PageHead
        title={
          <div className="row" style={{ flexWrap: "wrap", gap: "2px 8px" }}>
            <h1 style={{ overflowWrap: "anywhere" }}>{name}</h1>
            {topic?.is_dead_letter_topic && <Chip>dead letters</Chip>}
          </div>
        }
        note={topic ? <TopicNote topic={topic} /> : " "}
      >
        <Button to={recordsWith(topic?.is_dead_letter_topic ? "topic" : "origin_topic", name, ALL_TIME)}>
          Its dead letters
        </Button>
        <Button to={cluster ? `/topics?${new URLSearchParams({ cluster })}` : "/topics"}>All topics</Button>
      </PageHead>
      {!topic && (
        <Panel>
          {error ? (
            <LoadError title="This topic could not be loaded" error={error} onAgain={() => void refetch()} />
          ) : (
            <SkeletonRows rows={8} />
          )}
        </Panel>
      )}
      {topic && (
        <div className={styles.topic}>
          <TopicCharts topic={topic} />
          {topic.refusal !== null ? (
            <Panel label="Records">
              <Notice title="The records of this topic may not be read">{topic.refusal}.</Notice>
            </Panel>
          ) : (
            <>
              <TopicReadForm key={topicReadQuery(params)} topic={topic} />
              <TopicRecordList topic={topic} />
            </>
          )}
        </div>
      )}
    </>
  );
}

/** The size of the topic, and the connectors that read it with their lag. */
function TopicNote({ topic }: { topic: TopicDetail }) {
  const { data } = useConnectors();
  const readers = data?.results.filter((one) => one.kind !== "source" && one.topics.includes(topic.name)) ?? [];
  const kept = topic.partitions.reduce((sum, one) => sum + one.end - one.begin, 0);
  return (
    <>
      {plural(topic.partitions.length, "partition")}, {plural(kept, "offset")} kept
      {readers.map((reader, index) => (
        <span key={connectorLabel(reader)} className="t3">
          {index === 0 ? ". Read by " : ", "}
          <Link to={connectorPage(reader)}>{connectorLabel(reader)}</Link>
          {reader.topics.length === 1 && reader.lag !== null && ` (lag ${count(reader.lag)})`}
        </span>
      ))}
    </>
  );
}
