import { NativeSelect, TextInput } from "@mantine/core";
import { useId, useState, type KeyboardEvent } from "react";
import { useTrendNames } from "../../api/metrics";
import { reporterName } from "../../lib/connectors";
import { count } from "../../lib/format";
import { LoadError } from "../../ui/LoadError";
import { Button } from "../../ui/controls";
import controls from "../../ui/controls.module.css";
import { join } from "../../ui/Panel";
import styles from "./Trends.module.css";
import { FILTERS, type TrendFilter } from "./columns";

type Subject = keyof TrendFilter;

interface Option {
  value: string;
  label: string;
  note: string;
}

const MOST = 50; // options in the list

/** Chooses the topic, connector, group or stage that the trend is about. Each choice is a button that removes it. */
export function SubjectPicker({
  filter,
  onChoose,
}: {
  filter: TrendFilter;
  onChoose: (subject: Subject, value: string) => void;
}) {
  const [subject, setSubject] = useState<Subject>("topic");
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  const list = useId();
  const { facets, connectors } = useTrendNames(open || filter.group !== "");
  const known = facets.data?.facets ?? {};
  const groupTitle = known.group?.find(({ value }) => value === filter.group)?.label;
  const counted = (known[subject] ?? []).map(({ value, label, count: n }) => ({ value, label, note: count(n) }));
  const present = subject === "connector" ? (connectors.data?.results ?? []).map(reporterName) : [];
  const options = optionsFor(subject, text, [
    ...counted,
    ...[...new Set(present)]
      .filter((name) => !counted.some(({ value }) => value === name))
      .map((name) => ({ value: name, label: name, note: "" })),
  ]);
  const current = Math.min(active, options.length - 1);
  const take = (option: Option | undefined) => {
    if (!option) return;
    onChoose(subject, option.value);
    setText("");
    setOpen(false);
  };
  const press = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return; // the input method uses this key
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by !== undefined) {
      event.preventDefault();
      setOpen(true);
      if (open) setActive(Math.max(0, Math.min(options.length - 1, current + by)));
    } else if (event.key === "Enter" && open) {
      event.preventDefault();
      take(options[current]);
    } else if (event.key === "Escape") setOpen(false);
  };
  const shown = (node: HTMLElement | null) => node?.scrollIntoView?.({ block: "nearest" });
  return (
    <div className={styles.subject} role="group" aria-label="About">
      <NativeSelect
        size="xs"
        aria-label="About"
        value={subject}
        data={FILTERS.map((name) => ({ value: name, label: name }))}
        onChange={(event) => (setSubject(event.currentTarget.value as Subject), setText(""), setActive(0))}
        classNames={{ input: controls.input! }}
      />
      <div className={styles.subjectBox}>
        <TextInput
          size="xs"
          role="combobox"
          aria-label={`Choose a ${subject}`}
          placeholder={`Choose a ${subject}`}
          aria-expanded={open}
          aria-controls={list}
          aria-autocomplete="list"
          aria-activedescendant={open && options[current] ? `${list}-${current}` : undefined}
          autoComplete="off"
          spellCheck={false}
          value={text}
          onChange={(event) => (setText(event.currentTarget.value), setActive(0), setOpen(true))}
          onClick={() => setOpen(true)}
          onBlur={() => setOpen(false)}
          onKeyDown={press}
          classNames={{ input: controls.input! }}
        />
        {open && (
          <div className={styles.subjectList} onPointerDown={(event) => event.preventDefault()}>
            {facets.error && (
              <LoadError title="Names not loaded" error={facets.error} onAgain={() => void facets.refetch()} />
            )}
            <div id={list} role="listbox" aria-label={`Names of ${subject}s`} aria-busy={facets.isPending}>
              {options.map((option, index) => (
                <div
                  key={option.value}
                  id={`${list}-${index}`}
                  ref={index === current ? shown : undefined}
                  role="option"
                  aria-selected={index === current}
                  className={join(styles.subjectOption, index === current && styles.active)}
                  onClick={() => take(option)}
                >
                  <span className="cut" title={option.label}>
                    {option.label}
                  </span>
                  <span className="t3">{option.note}</span>
                </div>
              ))}
            </div>
            {options.length === 0 && facets.data && <p className="s t3">No {subject} has this in its name.</p>}
          </div>
        )}
      </div>
      {FILTERS.filter((name) => filter[name]).map((name) => (
        <Button key={name} small title={`Remove ${name} ${filter[name]}`} onClick={() => onChoose(name, "")}>
          <span className={styles.subjectName}>
            {name} {name === "group" && groupTitle ? groupTitle : filter[name]}
          </span>
          <span aria-hidden="true"> ×</span>
        </Button>
      ))}
    </div>
  );
}

/** Return the options that contain the text, and the text itself, because the list knows only the biggest names. */
function optionsFor(subject: Subject, text: string, known: readonly Option[]): Option[] {
  const typed = text.trim();
  const wanted = typed.toLowerCase();
  const found = known
    .filter(({ value, label }) => label.toLowerCase().includes(wanted) || value === typed)
    .slice(0, MOST);
  const isName = typed !== "" && (subject !== "group" || /^\d{1,18}$/.test(typed));
  const isKnown = found.some(({ value }) => value === typed);
  return isName && !isKnown ? [...found, { value: typed, label: typed, note: "as typed" }] : found;
}
