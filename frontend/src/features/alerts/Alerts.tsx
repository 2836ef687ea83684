import { useState } from "react";
import { useParams, useSearchParams } from "react-router";
import {
  useAlertRules,
  useAlertTemplates,
  useFiringAlerts,
  useMayNotAlert,
  type AlertRule,
  type AlertTemplates,
} from "../../api/alerts";
import { useChannels } from "../../api/channels";
import { ago, plural } from "../../lib/format";
import { useNow } from "../../lib/zone";
import { Button } from "../../ui/controls";
import { LoadError } from "../../ui/LoadError";
import { Notice, PageHead, Panel, SkeletonRows, join } from "../../ui/Panel";
import { RefreshError } from "../../ui/RefreshError";
import { useTitle } from "../../ui/useTitle";
import styles from "./Alerts.module.css";
import { MessagesSent } from "./MessagesSent";
import { MuteRuleDialog, type MuteQuestion } from "./MuteRuleDialog";
import { NewRuleMenu } from "./NewRuleMenu";
import { RuleEditor } from "./RuleEditor";
import { RuleTable } from "./RuleTable";

// As long as the note that follows, so that nothing moves on a narrow screen.
const LOADING_NOTE = "Loading the rules. Rules are checked every 5 s, day and night.";

/** The alert rules with their states, the messages that were sent, and the rule of the address. */
export function Alerts() {
  const { id } = useParams();
  const rules = useAlertRules();
  const templates = useAlertTemplates();
  const barred = useMayNotAlert();
  const [question, setQuestion] = useState<MuteQuestion | null>(null);
  const rows = rules.data?.results;
  const chosen = rows?.find((one) => String(one.id) === id);
  useTitle(id === "new" ? "New alert rule" : (chosen?.name ?? "Alerts"));
  const isEmpty = rows?.length === 0;
  const channels = useChannels();
  const lasting = useFiringAlerts(chosen);
  // What is loaded late would move what is below it.
  const isLoaded = !rules.isPending && !templates.isPending && !channels.isLoading && !lasting.isLoading;
  const isListed = id === undefined || isLoaded;
  return (
    <>
      <PageHead title="Alerts" note={rules.data ? <RuleCounts list={rules.data} /> : LOADING_NOTE}>
        <Button
          barred={barred ?? (isEmpty ? "There is no rule yet" : undefined)}
          onClick={() => setQuestion({ id: "all", name: "all rules" })}
        >
          Mute all…
        </Button>
        <Button to="/settings/channels">Channels…</Button>
        <NewRuleMenu templates={templates.data?.templates ?? []} barred={barred} />
      </PageHead>
      {rules.isError && rules.data && (
        <RefreshError error={rules.error} at={rules.dataUpdatedAt} onAgain={() => void rules.refetch()} />
      )}
      <div className={join(styles.columns, id !== undefined && styles.withRule)}>
        <div className={styles.lists}>
          {isListed && (
            <Panel label="Rules">
              {!rows &&
                (rules.error ? (
                  <LoadError
                    title="The rules could not be loaded"
                    error={rules.error}
                    onAgain={() => void rules.refetch()}
                  />
                ) : (
                  <SkeletonRows rows={6} height={40} />
                ))}
              {isEmpty && <NoRules templates={templates.data} barred={barred} />}
              {rows && !isEmpty && (
                <RuleTable rows={rows} kinds={templates.data?.kinds ?? []} chosen={chosen?.id} onMute={setQuestion} />
              )}
            </Panel>
          )}
          {isListed && rows && <MessagesSent rules={rows} />}
        </div>
        {id !== undefined && <RuleOfAddress id={id} rule={chosen} templates={templates} isLoaded={isLoaded} />}
      </div>
      {question && <MuteRuleDialog question={question} onClose={() => setQuestion(null)} />}
    </>
  );
}

function RuleCounts({ list }: { list: NonNullable<ReturnType<typeof useAlertRules>["data"]> }) {
  const now = useNow(1_000);
  const { results, counts, checked_at: checked } = list;
  return (
    <>
      {plural(results.length, "rule")}, {counts.firing} firing. Rules are checked every 5 s;{" "}
      {checked ? `last check ${ago(checked, now)}.` : "they were not checked yet."}
    </>
  );
}

function NoRules({ templates, barred }: { templates: AlertTemplates | undefined; barred: string | undefined }) {
  return (
    <>
      <Notice title="No rule yet">
        A rule tells a channel when dead letters, tasks or replays need a person. Begin with a template or an empty
        rule.
      </Notice>
      <ul className={styles.templates}>
        {templates?.templates.map(({ name, text }, index) => (
          <li key={name}>
            <div>
              <b>{name}</b>
              <div className="s t2">{text}</div>
            </div>
            <Button {...(barred ? { barred } : { to: `/alerts/rules/new?template=${index}` })}>Use template</Button>
          </li>
        ))}
      </ul>
    </>
  );
}

/** The editor of the rule that the address names. */
function RuleOfAddress({
  id,
  rule,
  templates,
  isLoaded,
}: {
  id: string;
  rule: AlertRule | undefined;
  templates: ReturnType<typeof useAlertTemplates>;
  isLoaded: boolean;
}) {
  const [params] = useSearchParams();
  const chosen = params.get("template");
  if (templates.error && !templates.data)
    return (
      <Panel label="Rule">
        <LoadError
          title="The conditions could not be loaded"
          error={templates.error}
          onAgain={() => void templates.refetch()}
        />
      </Panel>
    );
  if (!templates.data || !isLoaded)
    return (
      <Panel label="Rule">
        <SkeletonRows rows={10} height={30} />
      </Panel>
    );
  if (id !== "new" && !rule)
    return (
      <Panel label="Rule">
        <Notice title="There is no alert rule with this id" actions={<Button to="/alerts">All rules</Button>}>
          It may have been deleted, or belong to a team of which you are no member.
        </Notice>
      </Panel>
    );
  return <RuleEditor key={`${id} ${chosen}`} rule={rule} template={chosen} templates={templates.data} />;
}
