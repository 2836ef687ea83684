import { useState } from "react";
import { Link } from "react-router";
import { useMayNotChange, useUnmuteRule, type AlertRule, type ConditionKind } from "../../api/alerts";
import { Icon } from "../../app/icons";
import { ago, dateMinute } from "../../lib/format";
import { useNow, useZone } from "../../lib/zone";
import { LinkButton } from "../../ui/controls";
import { Chip, Notice, join } from "../../ui/Panel";
import { TabRow } from "../../ui/TabRow";
import tables from "../../ui/tables.module.css";
import styles from "./Alerts.module.css";
import type { MuteQuestion } from "./MuteRuleDialog";
import { conditionsText, filterClauses, stateWords } from "./ruleWords";

const TABS = ["firing", "acknowledged", "ok", "muted"] as const;
const CLAUSES = 2;

/** The rules, in a tab for each state. */
export function RuleTable({
  rows,
  kinds,
  chosen,
  onMute,
}: {
  rows: readonly AlertRule[];
  kinds: readonly ConditionKind[];
  chosen: number | undefined;
  onMute: (question: MuteQuestion) => void;
}) {
  const [tab, setTab] = useState("all");
  const shown = rows.filter(({ state }) => tab === "all" || state === tab);
  return (
    <>
      <TabRow
        inset
        value={tab}
        onChange={setTab}
        items={[
          { value: "all", label: "All", note: rows.length },
          ...TABS.map((value) => ({
            value,
            label: stateWords(value).label,
            note: rows.filter(({ state }) => state === value).length,
          })),
        ]}
      />
      {shown.length === 0 ? (
        <Notice
          title={`No rule is ${tab === "ok" ? "OK" : tab}`}
          actions={<LinkButton onClick={() => setTab("all")}>Show all rules</LinkButton>}
        />
      ) : (
        <div className={tables.scroll}>
          <table className={join(tables.compact, tables.cards, styles.rules)}>
            <thead>
              <tr>
                <th>Rule, filter, condition</th>
                <th>Channels</th>
                <th>State, last fired</th>
                <th>Mute</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((rule) => (
                <RuleRow key={rule.id} rule={rule} kinds={kinds} isChosen={rule.id === chosen} onMute={onMute} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

function RuleRow({
  rule,
  kinds,
  isChosen,
  onMute,
}: {
  rule: AlertRule;
  kinds: readonly ConditionKind[];
  isChosen: boolean;
  onMute: (question: MuteQuestion) => void;
}) {
  const { zone } = useZone();
  const now = useNow(10_000);
  const { label, glyph, tone } = stateWords(rule.state);
  const clauses = filterClauses(rule.query);
  return (
    <tr className={isChosen ? styles.chosen : undefined} data-testid="alert-rule">
      <td className={styles.rule}>
        <div className={styles.name}>
          <Link to={`/alerts/rules/${rule.id}`} className="b" aria-current={isChosen ? "true" : undefined}>
            {rule.name}
          </Link>
          {clauses.slice(0, CLAUSES).map((text) => (
            <Chip key={text} mono title={text}>
              <span className="cut">{text}</span>
            </Chip>
          ))}
          {clauses.length > CLAUSES && <span className="s t3">and {clauses.length - CLAUSES} more</span>}
        </div>
        <div className="s t2">{conditionsText(rule, kinds)}</div>
      </td>
      <td className={join("s t2", styles.channels)}>
        {rule.tells.map(({ name }) => name).join(", ") || <span className="t3">no channel</span>}
      </td>
      <td className={styles.state}>
        <Chip tone={tone}>
          <span aria-hidden="true">{glyph}</span>
          {label}
          {rule.firing > 1 && rule.state === "firing" ? ` ${rule.firing}` : ""}
        </Chip>
        <div className="s t3">
          {rule.last_fired ? (
            <span title={dateMinute(rule.last_fired, zone)}>fired {ago(rule.last_fired, now)}</span>
          ) : (
            "never fired"
          )}
          {rule.muted_until && `, until ${dateMinute(rule.muted_until, zone, now)}`}
        </div>
      </td>
      <td className={styles.mute}>
        <MuteSwitch rule={rule} onMute={onMute} />
      </td>
    </tr>
  );
}

/** Mutes a rule until a time that it asks for, or ends its mute. */
function MuteSwitch({ rule, onMute }: { rule: AlertRule; onMute: (question: MuteQuestion) => void }) {
  const unmute = useUnmuteRule();
  const barred = useMayNotChange(rule.team?.id ?? null);
  const muted = rule.muted_until !== null;
  return (
    <button
      type="button"
      role="switch"
      aria-checked={muted}
      aria-label={`Mute ${rule.name}`}
      aria-disabled={barred !== undefined}
      aria-description={barred}
      title={barred ?? unmute.error?.message ?? (muted ? "Unmute" : "Mute…")}
      className={join(styles.bell, muted && styles.muted)}
      onClick={() => {
        if (barred) return;
        if (muted) unmute.mutate(rule.id);
        else onMute({ id: rule.id, name: rule.name });
      }}
    >
      <Icon name={muted ? "muted" : "alerts"} />
    </button>
  );
}
