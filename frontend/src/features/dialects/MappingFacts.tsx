import { Checkbox, NativeSelect, TextInput } from "@mantine/core";
import type { FactKind, Proposal, TryOut } from "../../api/dialects";
import { percent } from "../../lib/format";
import {
  PLACES,
  formsOf,
  movedTo,
  placeOf,
  type MappedFact,
  type MappingDraft,
  type Place,
  type Source,
} from "../../lib/mapping";
import { Button } from "../../ui/controls";
import controls from "../../ui/controls.module.css";
import { Meter, Panel, join } from "../../ui/Panel";
import tables from "../../ui/tables.module.css";
import styles from "./MappingEditor.module.css";

const NEW_SOURCE: Source = { header: null, json: "$.", letter: null, as: null, pick: "first", keep: false };
const MAX_SOURCES = 5;

interface FactsProps {
  kinds: readonly FactKind[];
  draft: MappingDraft;
  tried: TryOut | undefined;
  onFact: (fact: string, changed: Omit<MappedFact, "fact"> | null) => void;
  onUse: (proposal: Proposal) => void;
}

/** The facts of a mapping, each with its sources, its share of the tried letters, and its value in the shown one. */
export function MappingFacts({ kinds, draft, tried, onFact, onUse }: FactsProps) {
  return (
    <Panel title="Facts" aside={tried && <span className="s t3">tried on {tried.letters} letters</span>}>
      <table className={join(tables.compact, styles.facts)}>
        <thead>
          <tr>
            <th>Fact</th>
            <th>Comes from</th>
            <th className="num">Found</th>
            <th>In the letter below</th>
          </tr>
        </thead>
        <tbody>
          {kinds.map((kind) => (
            <FactRow
              key={kind.fact}
              kind={kind}
              mapped={draft.facts.find((one) => one.fact === kind.fact)}
              tried={tried}
              onChange={(changed) => onFact(kind.fact, changed)}
              onUse={onUse}
            />
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

function FactRow({
  kind,
  mapped,
  tried,
  onChange,
  onUse,
}: {
  kind: FactKind;
  mapped: MappedFact | undefined;
  tried: TryOut | undefined;
  onChange: (changed: Omit<MappedFact, "fact"> | null) => void;
  onUse: (proposal: Proposal) => void;
}) {
  const proposal = tried?.proposals.find((one) => one.fact === kind.fact);
  if (!mapped)
    return (
      <tr className={proposal && styles.proposed} data-testid={`fact-${kind.fact}`}>
        <td>{kind.label}</td>
        <td colSpan={3}>
          <span className={styles.unmapped}>
            {proposal ? (
              <>
                <span>
                  <b className="mono">{proposal.source.label}</b> is in {percent(proposal.share, 1, 0)} of the letters
                  {proposal.example && (
                    <>
                      : <span className="t2">{proposal.example}</span>
                    </>
                  )}
                </span>
                <Button small onClick={() => onUse(proposal)}>
                  Use it
                </Button>
              </>
            ) : (
              <span className="t3">not mapped</span>
            )}
            <Button small kind="quiet" onClick={() => onChange({ required: false, sources: [NEW_SOURCE] })}>
              Map…
            </Button>
          </span>
        </td>
      </tr>
    );
  const share = tried?.shares.find((one) => one.fact === kind.fact);
  const found = tried?.letter?.facts.find((one) => one.fact === kind.fact);
  const sources = mapped.sources;
  const change = (index: number, source: Source | null) => {
    const next = sources.flatMap((one, at) => (at === index ? (source ?? []) : one));
    onChange(next.length > 0 ? { required: mapped.required, sources: next } : null);
  };
  return (
    <tr data-testid={`fact-${kind.fact}`}>
      <td>
        <div>{kind.label}</div>
        <label className={styles.required}>
          <input
            type="checkbox"
            checked={mapped.required}
            onChange={(event) => onChange({ sources, required: event.currentTarget.checked })}
          />{" "}
          required
        </label>
      </td>
      <td>
        {sources.map((source, index) => (
          <SourceFields
            key={index}
            label={kind.label}
            kind={kind}
            source={source}
            isAlternative={index > 0}
            onChange={(changed) => change(index, changed)}
          />
        ))}
        {sources.length < MAX_SOURCES && (
          <Button small kind="quiet" onClick={() => onChange({ ...mapped, sources: [...sources, NEW_SOURCE] })}>
            Add where to look if it is missing
          </Button>
        )}
      </td>
      <td className="num">
        {tried && share && (
          <span className={styles.share}>
            {share.found}
            <Meter
              part={tried.letters ? share.found / tried.letters : 0}
              colour={share.found === tried.letters ? "var(--passed)" : "var(--warn)"}
            />
          </span>
        )}
      </td>
      <td className={styles.value}>
        {found?.problem ? <span className="warn">{found.problem}</span> : <span className="mono">{found?.value}</span>}
      </td>
    </tr>
  );
}

function SourceFields({
  label,
  kind,
  source,
  isAlternative,
  onChange,
}: {
  label: string;
  kind: FactKind;
  source: Source;
  isAlternative: boolean;
  onChange: (source: Source | null) => void;
}) {
  const place = placeOf(source);
  const forms = formsOf(kind, source);
  const which = isAlternative ? `${label}, if missing` : label;
  return (
    <div className={styles.source}>
      <NativeSelect
        aria-label={`${which}: comes from`}
        value={place}
        data={PLACES.map(({ value, label: text }) => ({ value, label: text }))}
        onChange={(event) => onChange(movedTo(source, event.currentTarget.value as Place))}
        classNames={{ input: controls.input! }}
      />
      {place === "json" || place === "header" ? (
        <TextInput
          aria-label={`${which}: ${place === "json" ? "path" : "header"}`}
          value={source.json ?? source.header ?? ""}
          onChange={(event) => onChange({ ...source, [place]: event.currentTarget.value })}
          classNames={{ input: `${controls.input} mono` }}
        />
      ) : (
        <span className="t3">as it is in Kafka</span>
      )}
      <NativeSelect
        aria-label={`${which}: read as`}
        value={source.as ?? forms[0] ?? ""}
        disabled={forms.length < 2}
        data={forms.map((form) => ({ value: form, label: FORM_LABELS[form] ?? form }))}
        onChange={(event) => onChange({ ...source, as: event.currentTarget.value })}
        classNames={{ input: controls.input! }}
      />
      <Button small kind="quiet" onClick={() => onChange(null)} title={`Remove this source of ${label}`}>
        Remove
      </Button>
      {place === "header" && (
        <Checkbox
          className={styles.keep}
          size="xs"
          label="of the record itself, so replays send it"
          aria-label={`${which}: of the record itself, so replays send it`}
          checked={source.keep}
          onChange={(event) => onChange({ ...source, keep: event.currentTarget.checked })}
        />
      )}
    </div>
  );
}

const FORM_LABELS: Record<string, string> = {
  text: "text",
  integer: "integer",
  int32: "4-byte integer",
  int64: "8-byte integer",
  "epoch-ms": "time, ms since 1970",
  "epoch-s": "time, s since 1970",
  "iso-time": "time, ISO 8601",
  base64: "base64 to bytes",
  hex: "hex to bytes",
  bytes: "content as it is",
  json: "JSON as it is written",
};
