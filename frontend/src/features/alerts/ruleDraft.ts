/** A rule while it is edited: the body of the request that saves it. */
import type { AlertRule, AlertTemplate, AlertTemplates, Condition, ConditionKind, RuleBody } from "../../api/alerts";

type Complete<T> = { [K in keyof T]-?: Exclude<T[K], undefined> };
/** All fields are there, so that two drafts can be compared. */
export type RuleDraft = Complete<RuleBody>;
export type DraftCondition = RuleDraft["conditions"][number];

const DEFAULT_INTERVAL_S = 3600;

/** Return a saved rule as a draft. */
export function draftOf(rule: AlertRule): RuleDraft {
  return {
    name: rule.name,
    team: rule.team?.id ?? null,
    match_all: rule.match_all,
    conditions: rule.conditions.map(withoutNulls),
    query: rule.query,
    tells: rule.tells.map(({ channel, held }) => ({ channel, held })),
    interval_s: rule.interval_s,
    digest: rule.digest,
    quiet: rule.quiet && { ...rule.quiet },
    escalate: rule.escalate && { ...rule.escalate },
    tell_resolved: rule.tell_resolved,
    samples: rule.samples,
  };
}

/** Return a new rule. A user who may not make rules without a team begins with the first of the teams. */
export function newDraft(templates: Pick<AlertTemplates, "teams" | "everything">, template?: AlertTemplate): RuleDraft {
  return {
    name: template?.name ?? "",
    team: templates.everything ? null : (templates.teams[0]?.id ?? null),
    match_all: template?.match_all ?? false,
    conditions: template?.conditions.map(withoutNulls) ?? [{ kind: "new_group" }],
    query: "",
    tells: [],
    interval_s: template?.interval_s ?? DEFAULT_INTERVAL_S,
    digest: template?.digest ?? false,
    quiet: null,
    escalate: null,
    tell_resolved: true,
    samples: false,
  };
}

/** Return the number of settings that differ. */
export function changedSettings(one: RuleDraft, other: RuleDraft): number {
  return (Object.keys(one) as (keyof RuleDraft)[]).filter(
    (name) => JSON.stringify(one[name]) !== JSON.stringify(other[name]),
  ).length;
}

/** Return a condition of a kind, with the values that the former condition shares. A number without a default is missing. */
export function conditionOf(kind: ConditionKind, before?: DraftCondition): DraftCondition {
  const made: Record<string, unknown> = { kind: kind.kind };
  if (kind.has_interval) made.within_s = before?.within_s ?? DEFAULT_INTERVAL_S;
  for (const { name, default: usual } of kind.fields) {
    const value = before?.[name as keyof DraftCondition] ?? usual;
    if (value !== null && value !== undefined) made[name] = value;
  }
  return made as DraftCondition;
}

/** Return what is missing before the rule can be saved; undefined if nothing is. */
export function missing(draft: RuleDraft, kinds: readonly ConditionKind[]): string | undefined {
  if (!draft.name.trim()) return "Enter a name first";
  return missingInConditions(draft, kinds);
}

/** Return what is missing before the rule can be previewed. */
export function missingInConditions(draft: RuleDraft, kinds: readonly ConditionKind[]): string | undefined {
  if (draft.conditions.length === 0) return "Add a condition first";
  const isIncomplete = draft.conditions.some((condition) =>
    kinds
      .find((one) => one.kind === condition.kind)
      ?.fields.some(({ name }) => condition[name as keyof DraftCondition] === undefined),
  );
  if (isIncomplete) return "Enter the numbers of all conditions first";
  if (draft.quiet && !(draft.quiet.start && draft.quiet.end && draft.quiet.zone)) return "Enter the quiet hours first";
  return undefined;
}

function withoutNulls(condition: Condition): DraftCondition {
  return Object.fromEntries(Object.entries(condition).filter(([, value]) => value !== null)) as DraftCondition;
}
