import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { Link } from "react-router";
import { useItems, type Order } from "../../api/replays";
import type { Coordinates, Item, OutcomeInGroup, Replay } from "../../api/replayTypes";
import { count, plural, timeOfDay } from "../../lib/format";
import { itemState } from "../../lib/states";
import { useZone } from "../../lib/zone";
import { Choice, LinkButton } from "../../ui/controls";
import { SkeletonRows, Chip, Glyph, Notice, Panel, join } from "../../ui/Panel";
import tables from "../../ui/tables.module.css";
import { KeyText } from "../../ui/WithheldNotice";
import styles from "./Replays.module.css";

const MIN_REFRESH_MS = 1_500;

/** The records of a replay, each with its outcome and the evidence. */
export function ItemPanel({ replay }: { replay: Replay }) {
  const id = String(replay.id);
  const planned = replay.status === "planned";
  const [order, setOrder] = useState<Order>(planned ? "ordinal" : "attention");
  const list = useItems(id, order, "");
  const rows = list.data?.pages.flatMap((page) => page.results) ?? [];
  const pages = list.data?.pages.length ?? 0;
  const { over, changed, show, hover } = useDeferredRefresh(id, JSON.stringify(replay.counts), pages > 1);
  return (
    <Panel
      label="Items"
      className={planned ? styles.gap : undefined}
      title={
        <>
          <h2>Items</h2>
          <Choice
            label="Order"
            value={order}
            options={[
              { value: "attention", label: "Needs attention first" },
              { value: "newest", label: "Newest" },
              { value: "ordinal", label: `All ${count(replay.counts.total)}` },
            ]}
            onChange={setOrder}
          />
        </>
      }
      aside={
        changed && over ? (
          <LinkButton onClick={show}>Changed since: show</LinkButton>
        ) : (
          <span className="s t3">
            {planned ? "Nothing is sent yet" : "Outcomes can change if a dead letter arrives later"}
          </span>
        )
      }
    >
      <div className={tables.scroll} onPointerEnter={() => hover(true)} onPointerLeave={() => hover(false)}>
        {list.isPending ? (
          <SkeletonRows rows={8} height={18} />
        ) : list.error && rows.length === 0 ? (
          <Notice title="The items could not be loaded">{list.error.message}</Notice>
        ) : rows.length === 0 ? (
          <Notice title="No items" />
        ) : (
          <ItemTable rows={rows} />
        )}
      </div>
      {list.hasNextPage && (
        <div className={tables.more}>
          <LinkButton onClick={() => void list.fetchNextPage()}>
            {list.isFetchingNextPage
              ? "Loading…"
              : `${plural(rows.length, "row")} of ${count(list.data?.pages[0]?.total)}: more`}
          </LinkButton>
        </div>
      )}
    </Panel>
  );
}

function ItemTable({ rows }: { rows: readonly Item[] }) {
  const { zone } = useZone();
  return (
    <table className={join(tables.compact, tables.cards, styles.items)}>
      <thead>
        <tr>
          <th>Outcome</th>
          <th>Key</th>
          <th>From</th>
          <th className={styles.optional}>Sent to</th>
          <th className={`num ${styles.optional}`}>Try</th>
          <th>Evidence</th>
          <th className={styles.optional}>At</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((item) => {
          const { label, glyph, tone } = itemState(item.state);
          return (
            <tr key={item.ordinal} data-testid="item" data-state={item.state}>
              <td className="nw">
                <span className={`row b ${tone}`}>
                  <Glyph tone={tone}>{glyph}</Glyph>
                  {label}
                </span>
                {item.outcomes.length > 0 && <span className="s t3">{item.watched || "no reader"}</span>}
                {item.outcomes.map((one) => (
                  <GroupOutcome key={one.group} outcome={one} />
                ))}
              </td>
              <td className="mono cut" style={{ maxWidth: 130 }} title={item.dead_letter.key_text ?? undefined}>
                <Link to={`/records/${item.dead_letter.id}`}>
                  <KeyText of={item.dead_letter} />
                </Link>
              </td>
              <td className="mono nw t2">
                <PartitionOffset at={item.from} />
              </td>
              <td className={join("mono nw", styles.optional)}>
                <PartitionOffset at={item.sent_to} />
              </td>
              <td className={`num t3 ${styles.optional}`}>{item.attempt}</td>
              <td className={styles.evidence}>
                <ItemEvidence item={item} />
              </td>
              <td className={join("mono nw t3", styles.optional)}>{timeOfDay(item.at, zone)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** The record's outcome in another consumer group. */
function GroupOutcome({ outcome }: { outcome: OutcomeInGroup }) {
  const { zone } = useZone();
  const { label, glyph, tone } = itemState(outcome.state);
  const before = outcome.history
    .map((one) => ` Was ${itemState(one.state).label.toLowerCase()} until ${timeOfDay(one.at, zone)}.`)
    .join("");
  return (
    <span className="row s" data-testid="in-group" title={`${outcome.evidence}${before}`}>
      <Glyph tone={tone}>{glyph}</Glyph>
      {label} in {outcome.group}
    </span>
  );
}

function PartitionOffset({ at }: { at: Coordinates | null }) {
  return at ? (
    <span title={at.topic}>
      {at.partition} / {count(at.offset)}
    </span>
  ) : (
    <span className="t3">–</span>
  );
}

function ItemEvidence({ item }: { item: Item }) {
  const { zone } = useZone();
  const { refailure: again, history, downstream } = item;
  return (
    <>
      {item.edited && <Chip>edited</Chip>} {item.known_by && <Chip>{item.known_by}</Chip>}{" "}
      {item.state === "unknown" && item.reason && !item.evidence.startsWith(item.reason) && `${item.reason}: `}
      <span title={item.evidence}>{evidenceText(item) || item.reason.replaceAll("_", " ")}</span>
      {again && (
        <>
          {downstream ? "; failed downstream" : ""} →{" "}
          <Link className="mono nw" to={`/records/${again.id}`} data-testid="refailure">
            {again.topic} / {again.partition} / {count(again.offset)}
          </Link>
        </>
      )}
      {history.length > 0 && (
        <span className="t3">
          {" "}
          Was{" "}
          {history
            .map((one) => `${itemState(one.state).label.toLowerCase()} until then (${timeOfDay(one.at, zone)})`)
            .join(", ")}
          .
        </span>
      )}
    </>
  );
}

/** Return the evidence without its kind and its dead letter, which other elements show. */
function evidenceText({ evidence, known_by, refailure, downstream }: Item): string {
  if (refailure && !downstream) return evidence.split("; proven")[0] ?? "";
  const own = refailure ? (evidence.split("; failed downstream")[0] ?? "") : evidence;
  return known_by && own.startsWith(`${known_by}: `) ? own.slice(known_by.length + 2) : own;
}

/** Reload the list when the counts change, but never while the pointer is over it or more than one page is loaded. */
function useDeferredRefresh(id: string, figures: string, held: boolean) {
  const client = useQueryClient();
  const [over, setOver] = useState(false);
  const [shown, setShown] = useState(figures);
  const last = useRef(0);
  const changed = shown !== figures;
  const still = over || held;
  useEffect(() => {
    if (!changed || still) return;
    const timer = setTimeout(
      () => {
        last.current = Date.now();
        setShown(figures);
        void client.invalidateQueries({ queryKey: ["items", id] });
      },
      Math.max(0, last.current + MIN_REFRESH_MS - Date.now()),
    );
    return () => clearTimeout(timer);
  }, [changed, still, figures, client, id]);
  const show = () => {
    setShown(figures);
    void client.invalidateQueries({ queryKey: ["items", id] });
  };
  return { over: still, changed, show, hover: setOver };
}
