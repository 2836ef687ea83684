import { Link, useSearchParams } from "react-router";
import { useTopicRecords } from "../../api/topics";
import type { Payload, TopicDetail, TopicRecord, TopicRecords } from "../../api/types";
import { fromBase64, hex } from "../../lib/bytes";
import { bytes, count, dateTime } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { continueTopicRead, readSummary, topicReadQuery } from "../../lib/topicRead";
import { useZone } from "../../lib/zone";
import { Button } from "../../ui/controls";
import { LoadError } from "../../ui/LoadError";
import { Notice, Panel, SkeletonRows, join } from "../../ui/Panel";
import tables from "../../ui/tables.module.css";
import { PLACEHOLDER_HEIGHT, TopicRecordPanel } from "./TopicRecordPanel";
import styles from "./Topics.module.css";

const SHOWN_HEX = 24;

/** The records that were read, and the chosen one. */
export function TopicRecordList({ topic }: { topic: TopicDetail }) {
  const [params, setParams] = useSearchParams();
  const query = topicReadQuery(params);
  const cluster = params.get("cluster") ?? "";
  const { data, error, isFetching, isPlaceholderData, refetch } = useTopicRecords(topic.name, cluster, query);
  const rows = data?.results ?? [];
  // A read by offset opens the record at that offset.
  const asked = params.get("offset") && params.get("partition") && `${params.get("partition")}/${params.get("offset")}`;
  const chosen = params.get("record") ?? asked;
  const at = rows.findIndex((row) => nameOf(row) === chosen);
  const choose = (row: TopicRecord | undefined) =>
    row && setParams((before) => (before.set("record", nameOf(row)), new URLSearchParams(before)), { replace: true });
  const close = () => setParams((before) => (before.set("record", ""), new URLSearchParams(before)), { replace: true });
  useKeys({ j: () => choose(rows[at + 1]), k: () => choose(rows[Math.max(0, at - 1)]), Escape: close });
  const open = rows[at];
  return (
    <div className={join(styles.split, (open !== undefined || (!data && Boolean(chosen))) && styles.withRecord)}>
      <Panel
        label="Records"
        title={<h2>Records</h2>}
        aside={
          data && (
            <span className="s t3" role="status" data-testid="read-summary">
              {readSummary(data, params.has("before"))}
            </span>
          )
        }
      >
        {!data &&
          (error ? (
            <LoadError title="The records could not be read" error={error} onAgain={() => void refetch()} />
          ) : (
            <SkeletonRows rows={10} />
          ))}
        {data && rows.length === 0 && (
          <Notice title={params.has("key") ? "No record with this key was found" : "There are no records here"}>
            {data.stopped === "end" ? "Everything asked for was read." : "The rest has not been read yet."}
          </Notice>
        )}
        {rows.length > 0 && (
          <div
            className={tables.scroll}
            style={isPlaceholderData ? { opacity: 0.6 } : undefined}
            role="group"
            tabIndex={0}
            aria-label="Records that were read"
          >
            <table className={join(tables.compact, tables.clickable, tables.cards, styles.records)}>
              <thead>
                <tr>
                  <th className="num">Partition</th>
                  <th className="num">Offset</th>
                  <th>Time</th>
                  <th>Key</th>
                  <th>Value</th>
                  <th className={join("num", styles.extra)}>Size</th>
                  <th />
                </tr>
              </thead>
              <tbody>
                {rows.map((row) => (
                  <Row key={nameOf(row)} row={row} isChosen={row === open} onChoose={() => choose(row)} />
                ))}
              </tbody>
            </table>
          </div>
        )}
        {data && <Continue page={data} busy={isFetching} />}
      </Panel>
      {!data && chosen && (
        // Keeps the list where it will be: in a narrow window the record is above it.
        <Panel className={styles.record}>
          <SkeletonRows rows={1} height={PLACEHOLDER_HEIGHT} />
        </Panel>
      )}
      {open && <TopicRecordPanel key={nameOf(open)} topic={topic.name} cluster={cluster} row={open} onClose={close} />}
    </div>
  );
}

function Row({ row, isChosen, onChoose }: { row: TopicRecord; isChosen: boolean; onChoose: () => void }) {
  const { zone } = useZone();
  return (
    <tr
      data-testid="topic-record"
      className={isChosen ? styles.chosen : undefined}
      aria-current={isChosen || undefined}
      onClick={onChoose}
    >
      <td className={join("num mono", styles.partition)}>{row.partition}</td>
      <td className="num mono">
        <button type="button" className={styles.offset} aria-label={`Record ${row.partition} / ${row.offset}`}>
          {count(row.offset)}
        </button>
      </td>
      <td className="mono nw t2" title={row.timestamp_type}>
        {row.timestamp ? dateTime(row.timestamp, zone) : "–"}
      </td>
      <td className={join("mono cut", styles.keyCell)}>
        <Preview of={row.key} />
      </td>
      <td className={join("mono cut", styles.valueCell)}>
        <Preview of={row.value} />
      </td>
      <td className={join("num nw t3", styles.extra)}>{row.value.is_null ? "null" : bytes(row.value.size)}</td>
      <td>
        {row.dead_letter !== null && (
          <Link to={`/records/${row.dead_letter}`} className="failed nw" onClick={(event) => event.stopPropagation()}>
            ✕ failed
          </Link>
        )}
      </td>
    </tr>
  );
}

/** The first bytes of a payload in one line: as text, or as hex if they are not UTF-8. */
function Preview({ of }: { of: Payload }) {
  if (of.is_null) return <span className="t3">null</span>;
  if (of.withheld) return <span className="t3">withheld</span>;
  if (of.size === 0) return <span className="t3">empty</span>;
  if (of.text !== null) return <>{of.text}</>;
  return <>{[...fromBase64(of.base64).subarray(0, SHOWN_HEX)].map((byte) => hex(byte)).join(" ")}</>;
}

/** Links to the records before and after these. */
function Continue({ page, busy }: { page: TopicRecords; busy: boolean }) {
  const [params] = useSearchParams();
  const to = (direction: "after" | "before", positions: string | null) =>
    positions ? { to: `?${continueTopicRead(params, direction, positions)}` } : {};
  const word = params.has("key") ? "Search" : "Read";
  return (
    <div className={styles.continue}>
      {page.before ? (
        <Button small busy={busy} {...to("before", page.before)}>{`${word} older`}</Button>
      ) : (
        <Button small barred="This is the first record that Kafka keeps">{`${word} older`}</Button>
      )}
      {page.after ? (
        <Button small busy={busy} {...to("after", page.after)}>{`${word} newer`}</Button>
      ) : (
        <Button small barred="The topic has no partition to read">{`${word} newer`}</Button>
      )}
    </div>
  );
}

function nameOf(row: TopicRecord): string {
  return `${row.partition}/${row.offset}`;
}
