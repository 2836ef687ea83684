import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "react-router";
import type { Attention, AttentionItem } from "../../api/types";
import { ago, span } from "../../lib/format";
import { attentionKind } from "../../lib/states";
import { useNow } from "../../lib/zone";
import { SkeletonRows, Chip, Glyph, Notice, Panel } from "../../ui/Panel";
import styles from "./Overview.module.css";

/** What to do first. */
export function AttentionList({ answer: { data, error } }: { answer: UseQueryResult<Attention> }) {
  return (
    <Panel
      title={
        <>
          <h2>Needs attention</h2>
          {data && <Chip>{data.items.length}</Chip>}
        </>
      }
    >
      {!data &&
        (error ? <Notice title="Not known at present">{error.message}</Notice> : <SkeletonRows rows={4} height={44} />)}
      {data?.items.map((item) => (
        <Item key={item.id} item={item} />
      ))}
      {data?.ok && (
        <div className={`s t3 row ${styles.well}`} style={{ gap: 6 }}>
          <Glyph tone="passed">✓</Glyph>
          {data.ok}
        </div>
      )}
    </Panel>
  );
}

function Item({ item }: { item: AttentionItem }) {
  const now = useNow(10_000);
  const { label, glyph, tone } = attentionKind(item.kind);
  const inside = (
    <>
      <Glyph tone={tone} large>
        {glyph}
      </Glyph>
      <span style={{ minWidth: 0, flex: 1 }}>
        <span className="row" style={{ gap: 6 }}>
          <b className={`s nw ${tone}`}>{label}</b>
          <span className="sp" />
          {item.at && (
            <span className="s t3 nw">
              {Date.parse(item.at) > now ? `in ${span(Date.parse(item.at) - now)}` : ago(item.at, now)}
            </span>
          )}
        </span>
        <span className="cut b" style={{ display: "block" }} title={item.title}>
          {item.title}
        </span>
        <span className="s t2 cut" style={{ display: "block" }} title={item.text}>
          {item.text}
        </span>
      </span>
    </>
  );
  return item.href ? (
    <Link to={item.href} className={styles.item}>
      {inside}
    </Link>
  ) : (
    <div className={styles.item}>{inside}</div>
  );
}
