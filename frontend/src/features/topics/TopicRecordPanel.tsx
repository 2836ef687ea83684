import { useState } from "react";
import { Link } from "react-router";
import { topicBytesUrl, useTopicRecord } from "../../api/topics";
import type { TopicRecord, TopicRecordDetail } from "../../api/types";
import { bytes, count, dateTime } from "../../lib/format";
import { useZone } from "../../lib/zone";
import { LoadError } from "../../ui/LoadError";
import { Button } from "../../ui/controls";
import { Notice, Panel, SkeletonRows } from "../../ui/Panel";
import { TabRow } from "../../ui/TabRow";
import { WithheldNotice } from "../../ui/WithheldNotice";
import { HeaderTable } from "../payload/HeaderTable";
import { MaskedLine, MaskedNotice } from "../payload/MaskedLine";
import { PayloadView } from "../payload/PayloadView";
import { RawBytes } from "../payload/RawBytes";
import styles from "./Topics.module.css";

export const PLACEHOLDER_HEIGHT = 800; // of most records, so that nothing moves when one appears

/** One record of a topic whole: value, key, headers and bytes. */
export function TopicRecordPanel({
  topic,
  cluster,
  row,
  onClose,
}: {
  topic: string;
  cluster: string;
  row: TopicRecord;
  onClose: () => void;
}) {
  const { zone } = useZone();
  const { data, error, refetch } = useTopicRecord(topic, cluster, row.partition, row.offset);
  return (
    <Panel
      label="Record"
      className={styles.record}
      title={
        <>
          <h2>
            {row.partition} / {count(row.offset)}
          </h2>
          <span className="s t3">{row.timestamp ? dateTime(row.timestamp, zone) : "without a time"}</span>
          {row.dead_letter !== null && (
            <Link to={`/records/${row.dead_letter}`} className="failed s">
              ✕ its dead letter
            </Link>
          )}
        </>
      }
      aside={
        <Button small kind="quiet" onClick={onClose} title="Close (Esc)">
          Close
        </Button>
      }
    >
      {data ? (
        <RecordTabs topic={topic} cluster={cluster} record={data} />
      ) : error ? (
        <LoadError title="This record could not be read" error={error} onAgain={() => void refetch()} />
      ) : (
        <SkeletonRows rows={1} height={PLACEHOLDER_HEIGHT} />
      )}
    </Panel>
  );
}

function RecordTabs({ topic, cluster, record }: { topic: string; cluster: string; record: TopicRecordDetail }) {
  const [tab, setTab] = useState("value");
  return (
    <>
      <TabRow
        inset
        value={tab}
        onChange={setTab}
        items={[
          { value: "value", label: "Value", note: bytes(record.value.size) },
          { value: "key", label: "Key", note: bytes(record.key.size) },
          { value: "headers", label: "Headers", note: String(record.headers.length) },
          { value: "raw", label: "Raw hex" },
        ]}
      />
      {(tab === "value" || tab === "key") && (
        <>
          <MaskedLine payload={record[tab]} part={tab} />
          <PayloadView
            key={tab}
            payload={record[tab]}
            part={tab}
            href={topicBytesUrl(topic, cluster, record.partition, record.offset, tab)}
          />
        </>
      )}
      {tab === "headers" && <HeaderTable headers={record.headers} />}
      {tab === "raw" &&
        (record.value.withheld && record.value.masked ? (
          <MaskedNotice />
        ) : record.value.withheld ? (
          <WithheldNotice />
        ) : record.value.base64 ? (
          <RawBytes part="value" payload={record.value} />
        ) : (
          <Notice title="There are no bytes">The value is {record.value.is_null ? "null" : "empty"}.</Notice>
        ))}
    </>
  );
}
