import { NativeSelect, NumberInput } from "@mantine/core";
import type { AlertTemplates } from "../../api/alerts";
import { LinkButton } from "../../ui/controls";
import controls from "../../ui/controls.module.css";
import { join } from "../../ui/Panel";
import styles from "./Alerts.module.css";
import { EditorSection, RemoveButton } from "./EditorSection";
import { conditionOf, type DraftCondition, type RuleDraft } from "./ruleDraft";
import { duration, kindText } from "./ruleWords";

const MOST = 10;
const FIELDS: Record<string, string> = {
  more_than: "more than",
  at_least: "of at least this many records",
  percent: "%",
  seconds: "s",
  hours: "h",
};

/** The conditions of a rule, and whether one or all of them must hold. */
export function ConditionRows({
  draft,
  templates,
  onChange,
}: {
  draft: RuleDraft;
  templates: AlertTemplates;
  onChange: (change: Partial<RuleDraft>) => void;
}) {
  const { conditions } = draft;
  const { kinds } = templates;
  const set = (index: number, next: DraftCondition) =>
    onChange({ conditions: conditions.map((one, at) => (at === index ? next : one)) });
  return (
    <EditorSection title="When">
      <div className={styles.line}>
        <NativeSelect
          size="xs"
          aria-label="Conditions that must hold"
          value={draft.match_all ? "all" : "any"}
          data={["any", "all"]}
          onChange={(event) => onChange({ match_all: event.currentTarget.value === "all" })}
          classNames={{ input: controls.input! }}
        />
        of these {draft.match_all ? "are true for the same subject" : "is true"}:
      </div>
      {conditions.map((condition, index) => (
        <ConditionRow
          key={index}
          number={index + 1}
          condition={condition}
          templates={templates}
          onChange={(next) => set(index, next)}
          onRemove={
            conditions.length > 1
              ? () => onChange({ conditions: conditions.filter((_, at) => at !== index) })
              : undefined
          }
        />
      ))}
      {conditions.length < MOST && kinds[0] && (
        <LinkButton onClick={() => onChange({ conditions: [...conditions, conditionOf(kinds[0]!)] })}>
          Add condition
        </LinkButton>
      )}
    </EditorSection>
  );
}

function ConditionRow({
  number,
  condition,
  templates: { kinds, intervals_s: intervals },
  onChange,
  onRemove,
}: {
  number: number;
  condition: DraftCondition;
  templates: AlertTemplates;
  onChange: (next: DraftCondition) => void;
  onRemove: (() => void) | undefined;
}) {
  const kind = kinds.find((one) => one.kind === condition.kind);
  return (
    <div className={join(styles.line, styles.condition)}>
      <NativeSelect
        size="xs"
        aria-label={`Condition ${number}`}
        value={condition.kind}
        data={kinds.map((one) => ({ value: one.kind, label: kindText(one) }))}
        onChange={(event) => {
          const next = kinds.find((one) => one.kind === event.currentTarget.value);
          if (next) onChange(conditionOf(next, condition));
        }}
        classNames={{ root: styles.kind!, input: controls.input! }}
      />
      {kind?.fields.map((field) => (
        <span key={field.name} className={styles.unit}>
          {field.name === "at_least" || field.name === "more_than" ? FIELDS[field.name] : ""}
          <NumberInput
            size="xs"
            aria-label={`${numberLabel(field.name)} of condition ${number}`}
            value={condition[field.name as "more_than"] ?? ""}
            min={field.least}
            max={field.most}
            clampBehavior="blur"
            allowDecimal={field.name === "percent"}
            hideControls
            onChange={(value) =>
              onChange({ ...condition, [field.name]: typeof value === "number" ? value : undefined })
            }
            classNames={{ root: styles.number!, input: controls.input! }}
          />
          {field.name === "at_least" || field.name === "more_than" ? "" : (FIELDS[field.name] ?? field.name)}
        </span>
      ))}
      {kind?.has_interval && (
        <span className={styles.unit}>
          in
          <NativeSelect
            size="xs"
            aria-label={`Interval of condition ${number}`}
            value={condition.within_s}
            data={intervals.map((seconds) => ({ value: String(seconds), label: duration(seconds) }))}
            onChange={(event) =>
              onChange({
                ...condition,
                within_s: Number(event.currentTarget.value) as NonNullable<DraftCondition["within_s"]>,
              })
            }
            classNames={{ input: controls.input! }}
          />
        </span>
      )}
      {onRemove && <RemoveButton label={`Remove condition ${number}`} onClick={onRemove} />}
    </div>
  );
}

function numberLabel(name: string): string {
  return (
    {
      more_than: "Number",
      at_least: "Least number of records",
      percent: "Percentage",
      seconds: "Seconds",
      hours: "Hours",
    }[name] ?? name
  );
}
