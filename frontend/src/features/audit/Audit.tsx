import { useAudit } from "../../api/audit";
import { dateTime } from "../../lib/format";
import { useZone } from "../../lib/zone";
import { LinkButton } from "../../ui/controls";
import { Avatar, SkeletonRows, Chip, join, Notice, PageHead, Panel } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import styles from "./Audit.module.css";

const FAILED = new Set(["sign-in failed", "sign-in refused"]);

/** Who did what, newest first. */
export function Audit() {
  const { zone } = useZone();
  const list = useAudit();
  const entries = list.data?.pages.flatMap((page) => page.results) ?? [];
  useTitle("Audit");
  return (
    <>
      <PageHead
        title="Audit"
        note="All sign-ins (including failed ones), changes and exports, with user, time and address. Entries form a hash chain; manage.py verify_audit detects changed entries."
      />
      <Panel label="Audit">
        {list.isPending && <SkeletonRows rows={8} />}
        {list.isError && <Notice title="The entries could not be loaded">{list.error.message}</Notice>}
        {list.isSuccess && entries.length === 0 && (
          <Notice title="No audit entries yet">The first change, sign-in or export appears here.</Notice>
        )}
        {entries.length > 0 && (
          <div className={styles.scroll} tabIndex={0} role="group" aria-label="Entries">
            <table className={styles.table}>
              <thead>
                <tr>
                  <th>No.</th>
                  <th>At</th>
                  <th>Who</th>
                  <th>From</th>
                  <th>Did</th>
                  <th>To</th>
                  <th>Detail</th>
                </tr>
              </thead>
              <tbody>
                {entries.map((entry) => (
                  <tr key={entry.id}>
                    <td className="mono nw t3" title={entry.seq === null ? "Not sealed yet" : entry.seal}>
                      {entry.seq ?? "–"}
                    </td>
                    <td className="mono nw">{dateTime(entry.at, zone)}</td>
                    <td className="nw">
                      <span className="row s" style={{ gap: 6, height: 22 }}>
                        <Avatar name={entry.actor || "?"} />
                        {entry.actor || "nobody"}
                      </span>
                    </td>
                    <td className="mono nw">{entry.address ?? ""}</td>
                    <td className={join("nw", FAILED.has(entry.action) && "failed")}>
                      <Chip mono>{entry.action}</Chip>
                    </td>
                    <td className="mono nw">{entry.object}</td>
                    <td className={styles.detail}>{words(entry.detail)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
        {list.hasNextPage && (
          <div className={styles.more}>
            <LinkButton onClick={() => void list.fetchNextPage()}>Older entries</LinkButton>
          </div>
        )}
      </Panel>
    </>
  );
}

function words(detail: unknown): string {
  if (detail === null || detail === undefined) return "";
  if (typeof detail !== "object") return String(detail);
  return Object.entries(detail)
    .filter(([, value]) => value !== null && value !== "")
    .map(([name, value]) => `${name}: ${typeof value === "object" ? JSON.stringify(value) : String(value)}`)
    .join(" · ");
}
