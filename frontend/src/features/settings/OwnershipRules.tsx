import { NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";
import { useApplyRules, useAssignees, usePreviewRules, useSaveRules, type OwnershipRule } from "../../api/ownership";
import { plural } from "../../lib/format";
import { Button } from "../../ui/controls";
import controls from "../../ui/controls.module.css";
import { ConfirmDialog } from "../../ui/Dialog";
import { Notice, Panel, Strip, join } from "../../ui/Panel";
import tables from "../../ui/tables.module.css";
import styles from "./Ownership.module.css";

const EMPTY: OwnershipRule = { topic: "", connector: "", exception: "", username: null, team: null };
const MOST_RULES = 200;

interface Props {
  saved: readonly OwnershipRule[];
  barred: string | undefined;
}

interface KeyedRule {
  key: number;
  rule: OwnershipRule;
}

/** The editor of the ownership rules. Nothing changes until they are saved. */
export function OwnershipRules({ saved, barred }: Props) {
  const [rows, setRows] = useState<KeyedRule[]>(() => keyed(saved));
  const preview = usePreviewRules();
  const save = useSaveRules();
  const [isApplying, setApplying] = useState(false);
  const rules = rows.map(({ rule }) => rule);
  const isChanged = JSON.stringify(rules) !== JSON.stringify(saved);
  const change = (next: KeyedRule[]) => (setRows(next), preview.reset(), save.reset());
  const fault = rules.some((rule) => !rule.team && !rule.username) ? "Choose an owner for each rule first" : undefined;
  const move = (index: number, by: number) => {
    const next = [...rows];
    next.splice(index + by, 0, ...next.splice(index, 1));
    change(next);
  };
  const add = () => change([...rows, { key: Math.max(0, ...rows.map(({ key }) => key)) + 1, rule: EMPTY }]);
  return (
    <Panel
      label="Rules"
      title="Rules"
      aside={
        <>
          {isChanged && !barred && <span className="s t3">Not saved yet</span>}
          <Button
            barred={barred ?? fault ?? (rows.length === 0 ? "Add a rule first" : undefined)}
            busy={preview.isPending}
            onClick={() => preview.mutate(rules)}
          >
            Preview
          </Button>
          <Button
            kind="primary"
            barred={barred ?? fault ?? (isChanged ? undefined : "Nothing has changed")}
            busy={save.isPending}
            onClick={() => save.mutate(rules, { onSuccess: (answer) => setRows(keyed(answer.rules)) })}
          >
            Save
          </Button>
        </>
      }
    >
      {rows.length === 0 ? (
        <Notice title="No rule yet">New groups belong to nobody until a person assigns them.</Notice>
      ) : (
        <table className={join(tables.compact, tables.cards, styles.rules)}>
          <thead>
            <tr>
              <th>Topic</th>
              <th>Connector</th>
              <th>Exception</th>
              <th>Owner</th>
              <th>
                <span className="sr">Order</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ key, rule }, index) => (
              <RuleRow
                key={key}
                rule={rule}
                number={index + 1}
                last={rows.length}
                barred={barred}
                matches={preview.data?.matches[index]}
                onChange={(next) => change(rows.with(index, { key, rule: next }))}
                onMove={(by) => move(index, by)}
                onRemove={() => change(rows.filter((_, other) => other !== index))}
              />
            ))}
          </tbody>
        </table>
      )}
      {(save.error ?? preview.error) && <Strip tone="failed">{(save.error ?? preview.error)?.message}</Strip>}
      <div className={join("row", styles.foot)}>
        <Button
          barred={barred ?? (rows.length >= MOST_RULES ? `${MOST_RULES} rules are the maximum` : undefined)}
          onClick={add}
        >
          Add rule
        </Button>
        <Button
          barred={
            barred ?? (isChanged ? "Save the rules first" : saved.length === 0 ? "There is no saved rule" : undefined)
          }
          onClick={() => setApplying(true)}
        >
          Apply to groups that nobody owns…
        </Button>
        <span className="s t3">
          The first rule that matches counts. In a pattern, * stands for any text. An empty pattern matches everything.
        </span>
      </div>
      {isApplying && <ApplyDialog rules={rules} onClose={() => setApplying(false)} />}
    </Panel>
  );
}

function RuleRow({
  rule,
  number,
  last,
  barred,
  matches,
  onChange,
  onMove,
  onRemove,
}: {
  rule: OwnershipRule;
  number: number;
  last: number;
  barred: string | undefined;
  matches: number | undefined;
  onChange: (rule: OwnershipRule) => void;
  onMove: (by: number) => void;
  onRemove: () => void;
}) {
  const pattern = (name: "topic" | "connector" | "exception", label: string) => (
    <td>
      <TextInput
        aria-label={`${label} of rule ${number}`}
        placeholder={`Any ${label.toLowerCase()}`}
        value={rule[name]}
        readOnly={barred !== undefined}
        onChange={(event) => onChange({ ...rule, [name]: event.currentTarget.value })}
        spellCheck={false}
        classNames={{ input: `${controls.input} mono` }}
      />
    </td>
  );
  const of = <span className="sr"> rule {number}</span>;
  return (
    <tr data-testid="ownership-rule">
      {pattern("topic", "Topic")}
      {pattern("connector", "Connector")}
      {pattern("exception", "Exception")}
      <td>
        <OwnerSelect rule={rule} number={number} barred={barred} onChange={onChange} />
        {matches !== undefined && (
          <span className="s t3" role="status">
            would assign {plural(matches, "group")} that nobody owns
          </span>
        )}
      </td>
      <td className={styles.order}>
        <Button small barred={barred ?? (number === 1 ? "It is the first rule" : undefined)} onClick={() => onMove(-1)}>
          <span aria-hidden="true">↑</span>
          <span className="sr">Move up</span>
          {of}
        </Button>
        <Button
          small
          barred={barred ?? (number === last ? "It is the last rule" : undefined)}
          onClick={() => onMove(1)}
        >
          <span aria-hidden="true">↓</span>
          <span className="sr">Move down</span>
          {of}
        </Button>
        <Button small barred={barred} onClick={onRemove}>
          Remove{of}
        </Button>
      </td>
    </tr>
  );
}

/** A choice of a team or a person. */
function OwnerSelect({
  rule,
  number,
  barred,
  onChange,
}: {
  rule: OwnershipRule;
  number: number;
  barred: string | undefined;
  onChange: (rule: OwnershipRule) => void;
}) {
  const { data } = useAssignees();
  const value = rule.team ? `team:${rule.team}` : rule.username ? `person:${rule.username}` : "";
  const teams = withCurrent(data?.teams ?? [], rule.team);
  const people = withCurrent(data?.people ?? [], rule.username);
  const choose = (next: string) => {
    const name = next.slice(next.indexOf(":") + 1);
    onChange({
      ...rule,
      team: next.startsWith("team:") ? name : null,
      username: next.startsWith("person:") ? name : null,
    });
  };
  return (
    <NativeSelect
      aria-label={`Owner of rule ${number}`}
      value={value}
      disabled={barred !== undefined}
      onChange={(event) => choose(event.currentTarget.value)}
      data={[
        { value: "", label: "Choose an owner" },
        { group: "Teams", items: teams.map((name) => ({ value: `team:${name}`, label: name })) },
        { group: "People", items: people.map((name) => ({ value: `person:${name}`, label: name })) },
      ]}
      classNames={{ input: controls.input! }}
    />
  );
}

/** Tells how many groups the saved rules would assign, and assigns them. */
function ApplyDialog({ rules, onClose }: { rules: readonly OwnershipRule[]; onClose: () => void }) {
  const preview = usePreviewRules();
  const apply = useApplyRules();
  const [isAsked, setAsked] = useState(false);
  if (!isAsked) {
    setAsked(true);
    preview.mutate(rules);
  }
  const total = preview.data?.matches.reduce((sum, one) => sum + one, 0);
  const done = apply.data?.changed;
  return (
    <ConfirmDialog
      open
      title="Apply the rules to groups that nobody owns"
      confirmLabel={done === undefined ? "Assign" : "Assigned"}
      cancelLabel={done === undefined ? "Cancel" : "Close"}
      barred={
        done !== undefined
          ? "The groups are assigned"
          : total === undefined
            ? "The groups are being counted"
            : total === 0
              ? "No group matches"
              : undefined
      }
      busy={apply.isPending}
      error={(apply.error ?? preview.error)?.message ?? null}
      onClose={onClose}
      onConfirm={() => apply.mutate()}
    >
      <span role="status">
        {done !== undefined
          ? `${plural(done, "group")} assigned.`
          : total === undefined
            ? "Counting the groups…"
            : `The rules would assign ${plural(total, "group")} that nobody owns. Groups with an owner keep it.`}
      </span>
    </ConfirmDialog>
  );
}

function withCurrent(names: readonly string[], current: string | null): string[] {
  return current && !names.includes(current) ? [...names, current] : [...names];
}

function keyed(rules: readonly OwnershipRule[]): KeyedRule[] {
  return rules.map((rule, key) => ({ key, rule }));
}
