import { Link } from "react-router";
import { useClusters } from "../../api/clusters";
import { useDialects, type DialectList, type Reread } from "../../api/dialects";
import { ago, count, plural } from "../../lib/format";
import { coversTopic } from "../../lib/mapping";
import { useNow } from "../../lib/zone";
import { Button } from "../../ui/controls";
import { LoadError } from "../../ui/LoadError";
import { Chip, Meter, Notice, PageHead, Panel, SkeletonRows } from "../../ui/Panel";
import tables from "../../ui/tables.module.css";
import { useTitle } from "../../ui/useTitle";
import { SettingsTabs } from "../settings/SettingsTabs";
import styles from "./Dialects.module.css";

/** The settings page of dialects: mappings, the topics without one, and the topics that are read again. */
export function Dialects() {
  const { data, error, refetch } = useDialects();
  useTitle("Dialects");
  return (
    <>
      <PageHead
        title="Dialects"
        note="A dialect reads the headers and members of a dead letter as facts: origin, error, attempts, original value."
      />
      <SettingsTabs />
      {data ? (
        <div className={styles.list}>
          <Mappings list={data} />
          <TopicPicker list={data} />
          {data.rereads.length > 0 && <Rereads rereads={data.rereads} />}
          <BuiltIn names={data.built_in} />
        </div>
      ) : (
        <Panel>
          {error ? (
            <LoadError title="The dialects could not be loaded" error={error} onAgain={() => void refetch()} />
          ) : (
            <SkeletonRows rows={8} />
          )}
        </Panel>
      )}
    </>
  );
}

function Mappings({ list }: { list: DialectList }) {
  const now = useNow(60_000);
  return (
    <Panel title="Your mappings" aside={<Button to="/settings/dialects/new">New mapping…</Button>}>
      {list.mappings.length === 0 ? (
        <Notice title="No mapping yet">
          A mapping reads dead letters that no built-in dialect knows, such as an envelope of your own.
        </Notice>
      ) : (
        <table className={tables.compact}>
          <thead>
            <tr>
              <th>Mapping</th>
              <th>Topics</th>
              <th className={styles.optional}>Saved</th>
            </tr>
          </thead>
          <tbody>
            {list.mappings.map((one) => (
              <tr key={one.name} data-testid="mapping">
                <td>
                  <Link to={`/settings/dialects/${encodeURIComponent(one.name)}`} className="mono b">
                    {one.name}
                  </Link>{" "}
                  <Chip>version {one.version}</Chip> {!one.is_active && <Chip tone="warn">retired</Chip>}
                </td>
                <td className={styles.names}>{one.topics.join(", ")}</td>
                <td className={styles.optional}>
                  by {one.by} {ago(one.at, now)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}

/** The indexed topics, each with the mapping that reads it or a way to make one. */
function TopicPicker({ list }: { list: DialectList }) {
  const { data } = useClusters();
  const topics = data?.index.topics ?? [];
  if (topics.length === 0) return null;
  return (
    <Panel title="Dead letter topics" aside={<span className="s t3">{plural(topics.length, "topic")} indexed</span>}>
      <table className={tables.compact}>
        <thead>
          <tr>
            <th>Topic</th>
            <th>Read by</th>
            <th>
              <span className="sr">Action</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {topics.map(({ topic }) => {
            const mapping = list.mappings.find((one) => one.is_active && coversTopic(one.topics, topic));
            const query = new URLSearchParams({ topic }).toString();
            return (
              <tr key={topic}>
                <td className={styles.names}>{topic}</td>
                <td>
                  {mapping ? (
                    <Link to={`/settings/dialects/${encodeURIComponent(mapping.name)}?${query}`} className="mono">
                      {mapping.name}
                    </Link>
                  ) : (
                    <span className="t3">built-in dialects</span>
                  )}
                </td>
                <td className="num">
                  {!mapping && (
                    <Button small to={`/settings/dialects/new?${query}`}>
                      Map…
                    </Button>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Panel>
  );
}

function Rereads({ rereads }: { rereads: readonly Reread[] }) {
  const now = useNow(60_000);
  return (
    <Panel title="Topics read again">
      <table className={tables.compact}>
        <thead>
          <tr>
            <th>Topic</th>
            <th>Progress</th>
            <th className={styles.optional}>Started</th>
          </tr>
        </thead>
        <tbody>
          {rereads.map((one) => (
            <tr key={`${one.topic} ${one.started_at}`} data-testid="reread">
              <td className={styles.names}>{one.topic}</td>
              <td>
                <RereadProgress reread={one} />
              </td>
              <td className={styles.optional}>
                by {one.by} {ago(one.started_at, now)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

function RereadProgress({ reread }: { reread: Reread }) {
  const rewritten = `${plural(reread.read, "letter")} read, ${count(reread.written)} written anew`;
  if (reread.state === "done") return <span className="passed">done: {rewritten}</span>;
  if (reread.state === "failed")
    return (
      <span className="failed">
        failed after {plural(reread.read, "letter")}. {reread.trouble}
      </span>
    );
  return (
    <span className={styles.progress}>
      <Meter part={reread.total ? reread.read / reread.total : 0} colour="var(--accent)" />
      <span>
        {count(reread.read)} of {count(reread.total)}
        {reread.trouble && <span className="warn"> {reread.trouble}</span>}
      </span>
    </span>
  );
}

function BuiltIn({ names }: { names: readonly string[] }) {
  return (
    <Panel title="Built-in dialects">
      <div className={styles.chips}>
        {names.map((name) => (
          <Chip key={name}>{name}</Chip>
        ))}
      </div>
    </Panel>
  );
}
