import { Checkbox, NativeSelect, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useMemo, useState } from "react";
import { useNavigate } from "react-router";
import {
  useAlertPreview,
  useDeleteRule,
  useMayNotChange,
  useSaveRule,
  useTestRule,
  type AlertRule,
  type AlertTemplates,
} from "../../api/alerts";
import { useChannels } from "../../api/channels";
import { newIdempotencyKey } from "../../api/replays";
import { plural } from "../../lib/format";
import { Button } from "../../ui/controls";
import controls from "../../ui/controls.module.css";
import { ConfirmDialog } from "../../ui/Dialog";
import { LeaveGuard } from "../../ui/LeaveGuard";
import { Panel, Strip } from "../../ui/Panel";
import styles from "./Alerts.module.css";
import { ConditionRows } from "./ConditionRows";
import { EditorSection } from "./EditorSection";
import { FiringStrip } from "./FiringStrip";
import { RuleFilter } from "./RuleFilter";
import { RuleOptions } from "./RuleOptions";
import { RulePreview } from "./RulePreview";
import { TellRows } from "./TellRows";
import { changedSettings, draftOf, missing, missingInConditions, newDraft, type RuleDraft } from "./ruleDraft";

const TYPING_MS = 600;

/** The editor of a rule; without one, of a new rule that begins with a template. */
export function RuleEditor({
  rule,
  template,
  templates,
}: {
  rule: AlertRule | undefined;
  /** The number of a template in the list. */
  template: string | null;
  templates: AlertTemplates;
}) {
  const navigate = useNavigate();
  const [key] = useState(newIdempotencyKey);
  const [edited, setEdited] = useState<RuleDraft | null>(null);
  const [asking, setAsking] = useState<"test" | "delete" | null>(null);
  const [testTold, setTestTold] = useState("");
  const saved = useMemo(
    () =>
      rule ? draftOf(rule) : newDraft(templates, template === null ? undefined : templates.templates[Number(template)]),
    [rule, template, templates],
  );
  const draft = edited ?? saved;
  const changes = changedSettings(saved, draft);
  const barred = useMayNotChange(rule ? (rule.team?.id ?? null) : undefined);
  const save = useSaveRule(rule?.id);
  const channels = useChannels();
  const put = (change: Partial<RuleDraft>) => {
    save.reset();
    setEdited({ ...draft, ...change });
  };
  const [settled] = useDebouncedValue(draft, TYPING_MS);
  const isPreviewed = barred === undefined && missingInConditions(settled, templates.kinds) === undefined;
  const preview = useAlertPreview(isPreviewed ? { ...settled, name: settled.name.trim() || "Preview" } : null);
  const wanted =
    barred ?? missing(draft, templates.kinds) ?? (rule && changes === 0 ? "Nothing is changed" : undefined);
  const isReadOnly = barred !== undefined;
  const teams = rule?.team && !templates.teams.some(({ id }) => id === rule.team?.id) ? [rule.team] : templates.teams;
  return (
    <Panel
      label={rule?.name ?? "New rule"}
      className={styles.editor}
      title={
        <>
          <h2>{rule?.name ?? "New rule"}</h2>
          <span className="s t3">{rule ? (rule.team?.name ?? "all teams") : ""}</span>
        </>
      }
      aside={
        <span className={styles.actions}>
          {changes > 0 && <span className={styles.unsaved}>{plural(changes, "change")} not saved</span>}
          {changes > 0 && (
            <Button kind="quiet" onClick={() => (setEdited(null), save.reset())}>
              Discard
            </Button>
          )}
          {rule && (
            <Button
              barred={
                barred ??
                (changes > 0
                  ? "Save the rule first"
                  : rule.tells.length === 0
                    ? "The rule tells no channel"
                    : undefined)
              }
              onClick={() => (setTestTold(""), setAsking("test"))}
            >
              Send test…
            </Button>
          )}
          <Button
            kind="primary"
            barred={wanted}
            busy={save.isPending}
            onClick={() =>
              save.mutate(
                { body: { ...draft, name: draft.name.trim() }, key },
                {
                  onSuccess: ({ id }) => {
                    setEdited(null);
                    // A replaced address is not held back by the guard of unsaved changes.
                    if (!rule) void navigate(`/alerts/rules/${id}`, { replace: true });
                  },
                },
              )
            }
          >
            Save rule
          </Button>
        </span>
      }
    >
      <LeaveGuard active={changes > 0} text="The changes of this rule are lost." />
      {rule && <FiringStrip rule={rule} />}
      {save.error && (
        <div className={styles.problem} role="alert">
          <Strip tone="failed">{save.error.message}</Strip>
        </div>
      )}
      {testTold && (
        <div className={styles.problem}>
          <Strip tone="passed">{testTold}</Strip>
        </div>
      )}
      {barred && <p className={styles.barred}>{barred} to change this rule.</p>}
      <fieldset disabled={isReadOnly} className={styles.fields}>
        <legend className="sr">Settings of the rule</legend>
        <EditorSection title="Name">
          <div className={styles.line}>
            <TextInput
              size="xs"
              aria-label="Name of the rule"
              value={draft.name}
              maxLength={100}
              onChange={(event) => put({ name: event.currentTarget.value })}
              classNames={{ root: styles.grow!, input: controls.input! }}
            />
            <NativeSelect
              size="xs"
              aria-label="Team"
              value={draft.team ?? ""}
              data={[
                ...(templates.everything || draft.team === null ? [{ value: "", label: "all teams" }] : []),
                ...teams.map(({ id, name }) => ({ value: String(id), label: name })),
              ]}
              onChange={(event) => put({ team: Number(event.currentTarget.value) || null })}
              classNames={{ input: controls.input! }}
            />
          </div>
        </EditorSection>
        <ConditionRows draft={draft} templates={templates} onChange={put} />
        <RuleFilter query={draft.query} error={preview.error ?? save.error} onChange={(query) => put({ query })} />
        <TellRows draft={draft} channels={channels} onChange={put} />
        <RuleOptions draft={draft} saved={saved} channels={channels.data ?? []} onChange={put} />
        <EditorSection title="Resolved">
          <Checkbox
            size="xs"
            label="Tell the same channels when the alert ends"
            checked={draft.tell_resolved}
            onChange={(event) => put({ tell_resolved: event.currentTarget.checked })}
            className={styles.check!}
            classNames={{ label: styles.checkLabel!, description: styles.checkText! }}
          />
        </EditorSection>
      </fieldset>
      {!isReadOnly && (
        <RulePreview
          preview={preview}
          draft={draft}
          channels={channels.data ?? []}
          kinds={templates.kinds}
          isChanged={changes > 0}
          missing={missingInConditions(draft, templates.kinds)}
          isWaiting={settled !== draft}
        />
      )}
      {rule && (
        <div className={styles.foot}>
          <span className="s t3">Made by {rule.created_by ?? "a deleted user"}.</span>
          <span className="sp" />
          <Button kind="danger" barred={barred} onClick={() => setAsking("delete")}>
            Delete rule…
          </Button>
        </div>
      )}
      {rule && <RuleDialogs rule={rule} asking={asking} onTested={setTestTold} onClose={() => setAsking(null)} />}
    </Panel>
  );
}

/** Asks whether to send a test of a rule, or to delete it. */
function RuleDialogs({
  rule,
  asking,
  onTested,
  onClose,
}: {
  rule: AlertRule;
  asking: "test" | "delete" | null;
  onTested: (told: string) => void;
  onClose: () => void;
}) {
  const navigate = useNavigate();
  const remove = useDeleteRule();
  const test = useTestRule();
  const told = (channels: number) => {
    onClose();
    onTested(
      `Test messages to ${plural(channels, "channel")} are on their way. Their results are under Messages sent.`,
    );
  };
  return (
    <>
      <ConfirmDialog
        open={asking === "test"}
        title={`Send a test of ${rule.name}`}
        confirmLabel="Send test"
        busy={test.isPending}
        error={test.error?.message ?? null}
        onClose={onClose}
        onConfirm={() => test.mutate(rule.id, { onSuccess: ({ channels }) => told(channels) })}
      >
        All channels of the rule, also that of the escalation, get a message that is marked as a test.
      </ConfirmDialog>
      <ConfirmDialog
        open={asking === "delete"}
        danger
        title={`Delete ${rule.name}`}
        confirmLabel="Delete rule"
        busy={remove.isPending}
        error={remove.error?.message ?? null}
        onClose={onClose}
        // A replaced address is not held back by the guard of unsaved changes.
        onConfirm={() => remove.mutate(rule.id, { onSuccess: () => void navigate("/alerts", { replace: true }) })}
      >
        Its alerts end, and stay in the list of alerts.
      </ConfirmDialog>
    </>
  );
}
