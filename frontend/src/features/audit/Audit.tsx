import { useSearchParams } from "react-router";
import { useAudit } from "../../api/audit";
import { dateMinute } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { rangeWords, type Range } from "../../lib/ranges";
import { readSpan, spanWords, widen } from "../../lib/span";
import { useZone } from "../../lib/zone";
import { Button, LinkButton } from "../../ui/controls";
import { LoadError } from "../../ui/LoadError";
import { Notice, PageHead, Panel, SkeletonRows } from "../../ui/Panel";
import { RefreshError } from "../../ui/RefreshError";
import tables from "../../ui/tables.module.css";
import { TimeRangeControl } from "../../ui/TimeRangeControl";
import { useTitle } from "../../ui/useTitle";
import { AuditExportButton } from "./AuditExportButton";
import { auditQuery, isFiltered, showsReads, withoutFilters, withValue } from "./auditFilter";
import { AuditFilterBar } from "./AuditFilterBar";
import { AuditTable } from "./AuditTable";
import { ChainState } from "./ChainState";

/** The audit screen: actions of people and processes, newest first. */
export function Audit() {
  const [params, setParams] = useSearchParams();
  const { zone } = useZone();
  const span = readSpan(params);
  const query = auditQuery(params);
  const list = useAudit(query);
  const pages = list.data?.pages ?? [];
  const entries = pages.flatMap((page) => page.results);
  const searchedTo = pages.at(-1)?.searched_to;
  const widenSpan = (range?: Range) => setParams(widen(params, range));
  useKeys({ Escape: () => span.narrowed && widenSpan() });
  useTitle("Audit");
  return (
    <>
      <PageHead
        title="Audit"
        note="Sign-ins, changes of users and permissions, and all actions in the dashboard. Entries form a hash chain; manage.py verify_audit detects changed entries."
      >
        <TimeRangeControl span={span} onWiden={widenSpan} />
        <AuditExportButton query={query} />
      </PageHead>
      <ChainState />
      {list.isError && list.data && (
        <RefreshError
          error={list.error}
          at={list.dataUpdatedAt}
          onAgain={() => void (list.isFetchNextPageError ? list.fetchNextPage() : list.refetch())}
        />
      )}
      <Panel label="Audit">
        <AuditFilterBar params={params} onChange={setParams} />
        {list.isPending && <SkeletonRows rows={8} height={34} />}
        {list.isError && !list.data && (
          <LoadError title="The entries could not be loaded" error={list.error} onAgain={() => void list.refetch()} />
        )}
        {list.data && entries.length === 0 && !list.hasNextPage && <EmptyTrail params={params} onChange={setParams} />}
        {entries.length > 0 && <AuditTable entries={entries} />}
        {list.hasNextPage && (
          <div className={tables.more}>
            {searchedTo && (
              <span className="s t2" role="status">
                Searched back to {dateMinute(searchedTo, zone)}.{" "}
              </span>
            )}
            <LinkButton onClick={() => void list.fetchNextPage()}>
              {searchedTo ? "Search older entries" : "Older entries"}
            </LinkButton>
          </div>
        )}
      </Panel>
    </>
  );
}

function EmptyTrail({ params, onChange }: { params: URLSearchParams; onChange: (params: URLSearchParams) => void }) {
  const span = readSpan(params);
  const filtered = isFiltered(params);
  return (
    <Notice
      title={`${filtered ? "No entries match" : "No entries"} in ${spanWords(span)}`}
      actions={
        <>
          {filtered && <Button onClick={() => onChange(withoutFilters(params))}>Clear the filters</Button>}
          {(span.narrowed || span.range !== "30d") && (
            <Button onClick={() => onChange(widen(params, "30d"))}>Show {rangeWords("30d")}</Button>
          )}
          {!showsReads(params) && (
            <Button onClick={() => onChange(withValue(params, "reads", "true"))}>Show reads of payloads</Button>
          )}
        </>
      }
    >
      {!showsReads(params) && "Reads of payloads are hidden."}
    </Notice>
  );
}
