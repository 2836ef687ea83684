import { NativeSelect, TextInput } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { useSaveMaskingRule, type MaskingRule, type MaskingRuleBody } from "../../api/masking";
import { useTeams } from "../../api/people";
import { useSession } from "../../api/session";
import { Button, Choice, LinkButton } from "../../ui/controls";
import controls from "../../ui/controls.module.css";
import { Chip, Panel, Strip } from "../../ui/Panel";
import { useFocusReturn } from "../../ui/useFocusReturn";
import styles from "./Masking.module.css";
import { MaskingTrial } from "./MaskingTrial";

type Body = Required<MaskingRuleBody>;

const EMPTY: Body = {
  topics: [],
  kind: "json path",
  field: "",
  show: "last four",
  except_roles: [],
  reason: "",
  active: true,
};
const KINDS = [
  { value: "json path", label: "JSON path" },
  { value: "header", label: "header" },
  { value: "regular expression", label: "text" },
] as const;
const SHOWS = [
  { value: "last four", label: "last four" },
  { value: "hash", label: "hash" },
  { value: "nothing", label: "nothing" },
] as const;
const ROLES = ["viewer", "payload reader", "operator", "approver", "admin"] as const;
const EXAMPLES: Record<Body["kind"], string> = {
  "json path": "$.contact.phone",
  header: "authorization",
  "regular expression": "\\+[0-9 ]{7,}",
};
const EVERYWHERE = "everywhere";

/** A form that adds or changes a rule, with its preview. */
export function MaskingRuleForm({ rule, onClose }: { rule: MaskingRule | null; onClose: () => void }) {
  const save = useSaveMaskingRule();
  const [body, setBody] = useState<Body>(() =>
    rule ? (Object.fromEntries(Object.keys(EMPTY).map((key) => [key, rule[key as keyof MaskingRule]])) as Body) : EMPTY,
  );
  const [topics, setTopics] = useState(body.topics.join(", "));
  const change = (part: Partial<Body>) => setBody({ ...body, ...part });
  const input = { label: controls.label!, input: `${controls.input} mono` };
  const first = useRef<HTMLInputElement>(null);
  useFocusReturn(true);
  useEffect(() => first.current?.focus(), []);
  const name = rule ? `rule ${rule.id}` : "the rule";
  return (
    <div className={styles.columns}>
      <Panel label="Rule" title={rule ? `Rule ${rule.id}` : "New rule, not saved"}>
        <div className={styles.fields}>
          <TextInput
            ref={first}
            label="Topics, separated by commas"
            description="* stands for any text."
            placeholder="orders.*"
            value={topics}
            onChange={(event) => {
              setTopics(event.currentTarget.value);
              change({ topics: patterns(event.currentTarget.value) });
            }}
            classNames={input}
          />
          <div className={styles.choice}>
            <span className={controls.label}>Kind of field</span>
            <Choice label="Kind of field" value={body.kind} options={KINDS} onChange={(kind) => change({ kind })} />
          </div>
          <TextInput
            label="Field"
            placeholder={EXAMPLES[body.kind]}
            value={body.field}
            onChange={(event) => change({ field: event.currentTarget.value })}
            classNames={input}
          />
          <div className={styles.choice}>
            <span className={controls.label}>Show</span>
            <Choice label="Show" value={body.show} options={SHOWS} onChange={(show) => change({ show })} />
          </div>
          <Exceptions roles={body.except_roles} onChange={(except_roles) => change({ except_roles })} />
          <TextInput
            label="Reason"
            value={body.reason}
            onChange={(event) => change({ reason: event.currentTarget.value })}
            classNames={{ label: controls.label!, input: controls.input! }}
          />
          {save.error && <Strip tone="failed">{save.error.message}</Strip>}
        </div>
        <div className={styles.foot}>
          <Button kind="quiet" onClick={onClose}>
            Discard
          </Button>
          <Button
            kind="primary"
            busy={save.isPending}
            barred={
              body.topics.length && body.field && body.reason ? undefined : "Enter topics, a field and a reason first"
            }
            onClick={() => save.mutate({ id: rule?.id ?? null, body }, { onSuccess: onClose })}
          >
            Save {name}
          </Button>
        </div>
      </Panel>
      <MaskingTrial body={body} name={name} />
    </div>
  );
}

/** The roles whose holders see the field. Admins of a team can except roles in their teams only. */
function Exceptions({
  roles,
  onChange,
}: {
  roles: Body["except_roles"];
  onChange: (roles: Body["except_roles"]) => void;
}) {
  const isAdministrator = useSession().data?.administrator === true;
  const teams = useTeams().data?.results ?? [];
  const [chosen, setChosen] = useState<string | null>(null);
  const places = [
    ...(isAdministrator ? [{ value: EVERYWHERE, label: "Everywhere" }] : []),
    ...teams.filter((team) => team.may_change_people).map(({ id, name }) => ({ value: String(id), label: name })),
  ];
  const place = chosen ?? places[0]?.value;
  const add = (role: (typeof ROLES)[number] | undefined) => {
    if (!role || place === undefined) return;
    const team = place === EVERYWHERE ? null : Number(place);
    if (!roles.some((one) => one.team === team && one.role === role)) onChange([...roles, { team, role }]);
  };
  const nameOf = (id: number) => teams.find((team) => team.id === id)?.name ?? `team ${id}`;
  return (
    <div>
      <div className={controls.label}>Masked for everyone{roles.length > 0 ? " except" : ""}</div>
      <div className={styles.except}>
        {roles.map((one, index) => (
          <Chip key={`${one.team} ${one.role}`}>
            {one.role} {one.team === null ? EVERYWHERE : `in ${nameOf(one.team)}`}{" "}
            <LinkButton onClick={() => onChange(roles.filter((_, other) => other !== index))}>remove</LinkButton>
          </Chip>
        ))}
        <NativeSelect
          aria-label="Where the role is held"
          value={place}
          data={places}
          onChange={(event) => setChosen(event.currentTarget.value)}
          classNames={{ input: controls.input! }}
        />
        <NativeSelect
          aria-label="Add a role"
          value=""
          data={[{ value: "", label: "Except a role…" }, ...ROLES.map((role) => ({ value: role, label: role }))]}
          onChange={(event) => add(ROLES.find((one) => one === event.currentTarget.value))}
          classNames={{ input: controls.input! }}
        />
      </div>
    </div>
  );
}

function patterns(text: string): string[] {
  return text
    .split(",")
    .map((one) => one.trim())
    .filter(Boolean);
}
