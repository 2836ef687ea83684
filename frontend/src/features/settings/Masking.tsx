import { useState } from "react";
import { useDeleteMaskingRule, useMaskingRules, type MaskingRule } from "../../api/masking";
import { useSession } from "../../api/session";
import { plural } from "../../lib/format";
import { Button } from "../../ui/controls";
import { ConfirmDialog } from "../../ui/Dialog";
import { LoadError } from "../../ui/LoadError";
import { Chip, Notice, PageHead, Panel, SkeletonRows } from "../../ui/Panel";
import { useTitle } from "../../ui/useTitle";
import clusters from "./Clusters.module.css";
import styles from "./Masking.module.css";
import { MaskingRuleForm } from "./MaskingRuleForm";
import { SettingsTabs } from "./SettingsTabs";

/** The settings page of masking rules: which fields of records are masked, and for whom. */
export function Masking() {
  const { data: session } = useSession();
  const isAdmin = session?.administrator || session?.teams.some((team) => team.roles.includes("admin"));
  const { data, error, refetch } = useMaskingRules(isAdmin === true);
  const [edited, setEdited] = useState<MaskingRule | "new" | null>(null);
  const [removed, setRemoved] = useState<MaskingRule | null>(null);
  const remove = useDeleteMaskingRule();
  useTitle("Masking");
  return (
    <>
      <PageHead
        title="Masking"
        note="A rule hides a field of some topics from everybody except people with roles that you name."
      />
      <SettingsTabs />
      <div className={clusters.list}>
        <Panel
          label="Masking rules"
          title="Masking rules"
          aside={data && <Button onClick={() => setEdited("new")}>Add a rule…</Button>}
        >
          {isAdmin === false && (
            <Notice title="Not for your roles">
              Masking rules are shown to administrators, and to people with the role admin in a team.
            </Notice>
          )}
          {!data &&
            isAdmin !== false &&
            (error ? (
              <LoadError title="The rules could not be loaded" error={error} onAgain={() => void refetch()} />
            ) : (
              <SkeletonRows rows={4} />
            ))}
          {data?.results.length === 0 && (
            <Notice title="No rule yet">
              Everybody who may read payloads sees all fields. Add a rule to hide a field, such as a phone number.
            </Notice>
          )}
          {data && data.results.length > 0 && (
            <ul className={styles.rules}>
              {data.results.map((rule) => (
                <RuleRow key={rule.id} rule={rule} onEdit={() => setEdited(rule)} onRemove={() => setRemoved(rule)} />
              ))}
            </ul>
          )}
        </Panel>
        {edited !== null && (
          <MaskingRuleForm
            key={edited === "new" ? "new" : edited.id}
            rule={edited === "new" ? null : edited}
            onClose={() => setEdited(null)}
          />
        )}
      </div>
      {removed && (
        <ConfirmDialog
          open
          title={`Remove rule ${removed.id}`}
          confirmLabel="Remove"
          danger
          busy={remove.isPending}
          error={remove.error?.message ?? null}
          onClose={() => setRemoved(null)}
          onConfirm={() => remove.mutate(removed.id, { onSuccess: () => setRemoved(null) })}
        >
          Everybody who may read payloads sees {removed.field} of {plural(removed.topics.length, "topic pattern")} from
          the next request on.
        </ConfirmDialog>
      )}
    </>
  );
}

function RuleRow({ rule, onEdit, onRemove }: { rule: MaskingRule; onEdit: () => void; onRemove: () => void }) {
  const barred = rule.editable ? undefined : "An administrator made this rule";
  return (
    <li>
      <div>
        <div className={styles.line}>
          <span className="t3">{rule.id}</span>
          {rule.topics.map((topic) => (
            <Chip key={topic} mono wraps>
              {topic}
            </Chip>
          ))}
          <span className="t3">{rule.kind === "json path" ? "JSON path" : rule.kind}</span>
          <span className="mono">{rule.field}</span>
          {!rule.active && <Chip tone="warn">off</Chip>}
        </div>
        <span className="t3">{rule.reason}</span>
      </div>
      <span className={styles.line}>
        <span className="t2">{rule.show === "hash" ? "shows a hash" : `shows ${rule.show}`}</span>
        <Button small barred={barred} onClick={onEdit}>
          Change…<span className="sr"> rule {rule.id}</span>
        </Button>
        <Button small barred={barred} onClick={onRemove}>
          Remove…<span className="sr"> rule {rule.id}</span>
        </Button>
      </span>
    </li>
  );
}
