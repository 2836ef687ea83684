/** Rules, alerts and messages in words. */
import type { Alert, AlertRule, Condition, ConditionKind, Delivery } from "../../api/alerts";
import { clauseTexts } from "../../lib/query";
import { dateMinute, timeOfDay, type Zone } from "../../lib/format";
import type { Tone } from "../../lib/states";

interface StateWords {
  label: string;
  glyph: string;
  tone: Tone;
}

const STATES: Record<string, StateWords> = {
  firing: { label: "Firing", glyph: "✕", tone: "failed" },
  acknowledged: { label: "Acknowledged", glyph: "…", tone: "waiting" },
  ok: { label: "OK", glyph: "✓", tone: "passed" },
  muted: { label: "Muted", glyph: "–", tone: "plain" },
  resolved: { label: "Ended", glyph: "✓", tone: "passed" },
};

/** Return the words of the state of a rule or an alert. */
export function stateWords(state: string): StateWords {
  return STATES[state] ?? { label: state, glyph: "?", tone: "unknown" };
}

/** 5400 → "90 min", 3600 → "1 h": the largest unit that leaves a whole number. */
export function duration(seconds: number): string {
  for (const [size, unit] of [
    [86_400, "d"],
    [3_600, "h"],
    [60, "min"],
  ] as const) {
    if (seconds >= size && seconds % size === 0 && !(unit === "d" && seconds === size))
      return `${seconds / size} ${unit}`;
  }
  return `${seconds} s`;
}

/** Return a condition as a sentence, without a full stop. */
export function conditionText(condition: Condition, kinds: readonly ConditionKind[]): string {
  const kind = kinds.find((one) => one.kind === condition.kind);
  if (!kind) return condition.kind.replaceAll("_", " ");
  const filled = kind.text.replace(/\{(\w+)\}/g, (_, name: keyof Condition) => number(condition[name]));
  return condition.within_s === null ? filled : filled.replace("the interval", duration(condition.within_s));
}

/** Return all conditions of a rule as one sentence. */
export function conditionsText(
  rule: Pick<AlertRule, "conditions" | "match_all">,
  kinds: readonly ConditionKind[],
): string {
  const texts = rule.conditions.map((one) => conditionText(one, kinds));
  return texts
    .map((text, index) => (index > 0 ? text.charAt(0).toLowerCase() + text.slice(1) : text))
    .join(rule.match_all ? ", and " : ", or ");
}

/** Return the condition that fired an alert. Its numbers are those of the rule, unless the rule was changed since. */
export function firedText(
  alert: Pick<Alert, "condition" | "started_at">,
  rule: Pick<AlertRule, "conditions" | "updated_at"> | undefined,
  kinds: readonly ConditionKind[],
): string {
  const own = rule?.conditions.filter(({ kind }) => kind === alert.condition) ?? [];
  if (rule && own.length > 0 && rule.updated_at <= alert.started_at)
    return conditionsText({ conditions: own, match_all: false }, kinds);
  const kind = kinds.find((one) => one.kind === alert.condition);
  return kind ? kindText(kind) : alert.condition.replaceAll("_", " ");
}

/** Return the sentence of a kind of condition without its numbers. */
export function kindText({ text }: ConditionKind): string {
  return text
    .replace(/more than \{more_than\} /, "many ")
    .replace(/^More than \{more_than\} /, "Many ")
    .replace(/\{\w+\}/g, "…")
    .replace(" in the interval", "");
}

/** Return the clauses of a rule's filter. */
export function filterClauses(query: string): string[] {
  return clauseTexts(query);
}

/** Return the result of a message in words. */
export function deliveryWords(delivery: Delivery, zone: Zone, now: number): StateWords {
  switch (delivery.state) {
    case "delivered":
      return { glyph: "✓", tone: "passed", label: `delivered${delivery.tries > 1 ? `, try ${delivery.tries}` : ""}` };
    case "failed":
      return { glyph: "✕", tone: "failed", label: `refused${delivery.result ? `: ${delivery.result}` : ""}` };
    case "given_up":
      return { glyph: "✕", tone: "failed", label: `given up after ${delivery.tries} tries` };
    case "queued":
      return delivery.tries === 0
        ? { glyph: "…", tone: "waiting", label: "being sent" }
        : {
            glyph: "!",
            tone: "warn",
            label: `try ${delivery.tries} failed, next ${when(delivery.next_try_at, zone, now)}`,
          };
  }
}

/** Return the last result of a channel as the beginning of a longer sentence. */
export function resultWords(result: string): string {
  return result.replace(/\.$/, "");
}

/** Return the rule's id in the source of a message, such as "rule 12"; undefined for other sources. */
export function ruleOf(source: string): number | undefined {
  const found = /^rule (\d+)$/.exec(source);
  return found ? Number(found[1]) : undefined;
}

/** Return the page of an alert's subject and the label of its link; null if it has none. */
export function subjectLink(alert: {
  subject_kind: string;
  subject_key: string;
  href: string;
}): { to: string; label: string } | null {
  if (!alert.href.startsWith("/")) return null;
  const label = { group: "Open group", replay: "Open replay", connector: "Open connector", task: "Open connector" }[
    alert.subject_kind
  ];
  return { to: alert.href, label: label ?? (alert.href.startsWith("/records") ? "Open records" : "Open topics") };
}

const FACTS: Record<string, string> = {
  records: "Records",
  failed: "Failed",
  consumed: "Consumed",
  within_s: "Within",
  last_hour: "Last hour",
  day_before: "24 h before",
  left_percent: "Budget left",
  connector: "Connector",
  cluster: "Cluster",
  task: "Task",
  seconds: "Behind",
  first: "First deletion",
  group: "Group",
  first_seen: "Group first seen",
  last_seen: "Group last seen",
  why: "Reason",
};

/** Return the facts of an alert as labelled values. */
export function factRows(facts: Record<string, unknown>, zone: Zone): [string, string][] {
  return Object.entries(facts).map(([name, value]) => [
    FACTS[name] ?? name.replaceAll("_", " "),
    factText(name, value, zone),
  ]);
}

function factText(name: string, value: unknown, zone: Zone): string {
  if (name === "within_s" && typeof value === "number") return duration(value);
  if (name === "seconds") return `${String(value)} s`;
  if (name === "left_percent") return `${String(value)} %`;
  if ((name === "first" || name.endsWith("_seen")) && typeof value === "string") return dateMinute(value, zone);
  if (typeof value === "number") return number(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}

function when(iso: string | null, zone: Zone, now: number): string {
  if (iso === null) return "soon";
  return Date.parse(iso) - now < 12 * 3_600_000 ? `at ${timeOfDay(iso, zone).slice(0, 5)}` : dateMinute(iso, zone, now);
}

function number(value: unknown): string {
  return typeof value === "number" ? value.toLocaleString("en-US") : String(value ?? "?");
}
