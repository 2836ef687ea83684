import { NativeSelect, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useSearchParams } from "react-router";
import { useMayNotRead } from "../../api/session";
import type { TopicDetail } from "../../api/types";
import { fromInput, inputValue } from "../../lib/ranges";
import { STARTS, readTopicRead, topicReadFault, writeTopicRead, type Start, type TopicRead } from "../../lib/topicRead";
import { useZone } from "../../lib/zone";
import { Button } from "../../ui/controls";
import controls from "../../ui/controls.module.css";
import styles from "./Topics.module.css";

const LABELS: Record<Start, string> = { newest: "newest", oldest: "oldest", offset: "offset", time: "time" };

/** The form that chooses the records to read. The read goes to the address when it is submitted. */
export function TopicReadForm({ topic }: { topic: TopicDetail }) {
  const [params, setParams] = useSearchParams();
  const client = useQueryClient();
  const { zone } = useZone();
  const barred = useMayNotRead();
  const [read, setRead] = useState<TopicRead>(readTopicRead(params));
  const set = (part: Partial<TopicRead>) => setRead({ ...read, ...part });
  const fault = topicReadFault(read);
  const isOne = topic.partitions.length === 1;
  const start = (value: Start) =>
    set({
      start: value,
      // An offset belongs to a partition; a topic with one partition leaves no choice.
      ...(value === "offset" && isOne && { partition: String(topic.partitions[0]?.partition ?? 0) }),
      ...(value === "time" && !read.at && { at: "now-1h" }),
    });
  return (
    <form
      className={styles.form}
      role="search"
      aria-label="Records of the topic"
      onSubmit={(event) => {
        event.preventDefault();
        if (fault) return;
        setParams((before) => writeTopicRead(before, read));
        void client.invalidateQueries({ queryKey: ["topic-records", topic.name] });
      }}
    >
      <NativeSelect
        size="xs"
        label="Partition"
        value={read.partition}
        data={[
          { value: "", label: "all" },
          ...topic.partitions.map(({ partition }) => ({ value: String(partition), label: String(partition) })),
        ]}
        onChange={(event) => set({ partition: event.currentTarget.value })}
        classNames={{ input: controls.input! }}
      />
      <NativeSelect
        size="xs"
        label="Start"
        value={read.start}
        data={STARTS.map((value) => ({ value, label: LABELS[value] }))}
        onChange={(event) => start(event.currentTarget.value as Start)}
        classNames={{ input: controls.input! }}
      />
      {read.start === "offset" && (
        <TextInput
          size="xs"
          label="Offset"
          inputMode="numeric"
          value={read.offset}
          onChange={(event) => set({ offset: event.currentTarget.value.replaceAll(/[\s,]/g, "") })}
          classNames={{ input: controls.input! }}
        />
      )}
      {read.start === "time" && (
        <TextInput
          size="xs"
          type="datetime-local"
          label={`From, ${zone === "utc" ? "UTC" : "local time"}`}
          value={inputValue(read.at, zone)}
          onChange={(event) => set({ at: event.currentTarget.value && fromInput(event.currentTarget.value, zone) })}
          classNames={{ input: controls.input! }}
        />
      )}
      <TextInput
        size="xs"
        label="Key"
        placeholder={barred ? "needs the right payload reader" : "exactly, or empty for all"}
        disabled={barred !== undefined}
        value={read.key}
        onChange={(event) => set({ key: event.currentTarget.value })}
        maxLength={1000}
        spellCheck={false}
        autoComplete="off"
        className={styles.key}
        classNames={{ input: controls.input! }}
      />
      <Button kind="primary" type="submit" barred={fault}>
        Read
      </Button>
    </form>
  );
}
