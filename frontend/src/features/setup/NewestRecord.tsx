import { Link } from "react-router";
import type { DeadLetterRow } from "../../api/types";
import { ago } from "../../lib/format";
import { useNow } from "../../lib/zone";

/** "Newest: 3 d ago, orders.dlq." */
export function NewestRecord({ row }: { row: DeadLetterRow }) {
  const now = useNow(10_000);
  return (
    <>
      Newest: <Link to={`/records/${row.id}?from=${encodeURIComponent(row.failed_at)}`}>{ago(row.failed_at, now)}</Link>
      , <span className="mono">{row.topic}</span>.
    </>
  );
}
