import type { IndexProgress, TopicRule } from "../../api/clusters";
import { ago } from "../../lib/format";
import { useNow } from "../../lib/zone";
import { Button } from "../../ui/controls";
import styles from "./Clusters.module.css";
import type { TopicQuestion } from "./TopicRuleDialog";

interface TopicRulesProps {
  index: IndexProgress;
  barred: string | undefined;
  onAsk: (question: TopicQuestion) => void;
}

/** The topics that administrators excluded, and those that they added before the topics exist. */
export function TopicRules({ index, barred, onAsk }: TopicRulesProps) {
  const there = new Set(index.topics.map((one) => one.topic));
  const shown = index.rules.filter((rule) => rule.rule === "excluded" || !there.has(rule.topic));
  if (shown.length === 0) return null;
  return (
    <ul className={styles.rules} aria-label="Rules without an indexed topic">
      {shown.map((rule) => (
        <RuleRow key={rule.topic} rule={rule} barred={barred} onAsk={onAsk} />
      ))}
    </ul>
  );
}

function RuleRow({ rule, barred, onAsk }: { rule: TopicRule } & Omit<TopicRulesProps, "index">) {
  const now = useNow(60_000);
  return (
    <li data-testid="rule">
      <span>
        <span className="mono b">{rule.topic}</span>{" "}
        <span className="t2">
          {rule.rule === "excluded" ? "excluded" : "added, and not on the cluster yet"}, by {rule.by}{" "}
          {ago(rule.at, now)}: {rule.reason}
        </span>
      </span>
      <Button small barred={barred} onClick={() => onAsk({ topic: rule.topic, rule: "default" })}>
        {rule.rule === "excluded" ? "Undo the exclusion…" : "Remove…"}
      </Button>
    </li>
  );
}
