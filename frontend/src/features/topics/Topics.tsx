import { NativeSelect, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useEffect, useState } from "react";
import { Link, useSearchParams } from "react-router";
import { useSession } from "../../api/session";
import { useTopics } from "../../api/topics";
import type { TopicList } from "../../api/types";
import { count, plural } from "../../lib/format";
import { topicAddress } from "../../lib/topicRead";
import controls from "../../ui/controls.module.css";
import { LoadError } from "../../ui/LoadError";
import { Chip, join, Notice, PageHead, Panel, SkeletonRows } from "../../ui/Panel";
import tables from "../../ui/tables.module.css";
import { useTitle } from "../../ui/useTitle";
import styles from "./Topics.module.css";

const TYPING_MS = 250;

/** The topics of the cluster by name. */
export function Topics() {
  const [params, setParams] = useSearchParams();
  const [text, setText] = useState(params.get("text") ?? "");
  const [settled] = useDebouncedValue(text.trim(), TYPING_MS);
  const cluster = params.get("cluster") ?? "";
  const { data: session } = useSession();
  const { data, error, refetch } = useTopics(settled, cluster);
  useEffect(
    () => setParams({ ...(settled && { text: settled }), ...(cluster && { cluster }) }, { replace: true }),
    [settled, cluster, setParams],
  );
  useTitle("Topics");
  return (
    <>
      <PageHead
        title="Topics"
        note={data ? `${plural(data.count, "topic")}${settled ? " with this name" : ""}` : " "}
      />
      <Panel label="Topics">
        <div className={styles.bar}>
          <TextInput
            size="xs"
            type="search"
            aria-label="Name"
            placeholder="Part of the name"
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            maxLength={249}
            spellCheck={false}
            autoComplete="off"
            className={styles.name}
            classNames={{ input: controls.input! }}
          />
          {(session?.clusters ?? []).length > 1 && (
            <NativeSelect
              size="xs"
              aria-label="Cluster"
              value={cluster || session?.cluster}
              data={session?.clusters.map((one) => one.name) ?? []}
              onChange={(event) => {
                const name = event.currentTarget.value;
                setParams(name === session?.cluster ? {} : { cluster: name }, { replace: true });
              }}
              classNames={{ input: controls.input! }}
            />
          )}
        </div>
        {!data &&
          (error ? (
            <LoadError title="The topics could not be loaded" error={error} onAgain={() => void refetch()} />
          ) : (
            <SkeletonRows rows={6} />
          ))}
        {data?.results.length === 0 && <Notice title="No topic has this name" />}
        {data && data.results.length > 0 && <TopicRows topics={data.results} cluster={cluster} />}
        {data && data.count > data.results.length && (
          <p className={join("s t3", styles.note)}>
            The first {count(data.results.length)} are shown. Type a part of the name to find the others.
          </p>
        )}
      </Panel>
    </>
  );
}

function TopicRows({ topics, cluster }: { topics: TopicList["results"]; cluster: string }) {
  return (
    <div className={tables.scroll} role="group" tabIndex={0} aria-label="Topics by name">
      <table className={tables.table}>
        <thead>
          <tr>
            <th>Topic</th>
            <th className="num">Partitions</th>
            <th className="num">Offsets kept</th>
          </tr>
        </thead>
        <tbody>
          {topics.map((topic) => (
            <tr key={topic.name} data-testid="topic">
              <td>
                <Link to={topicAddress(topic.name, null, null, cluster)} className="mono">
                  {topic.name}
                </Link>{" "}
                {topic.is_dead_letter_topic && <Chip>dead letters</Chip>}{" "}
                {topic.internal !== null && <Chip title={`${topic.name} ${topic.internal}`}>internal</Chip>}
              </td>
              <td className="num">{count(topic.partitions)}</td>
              <td className="num">{count(topic.offsets)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
