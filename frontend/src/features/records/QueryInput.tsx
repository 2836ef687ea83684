import { useId, useState, type KeyboardEvent, type Ref } from "react";
import { useCompletion } from "../../api/searches";
import { toCharacterIndex, toUtf16Index } from "../../lib/query";
import { join } from "../../ui/Panel";
import styles from "./QueryBar.module.css";

const HINT = "Add a filter, or search messages and keys";
/** Keys that move the cursor without changing the text. */
const MOVES = new Set(["ArrowLeft", "ArrowRight", "Home", "End"]);

interface Props {
  ref: Ref<HTMLInputElement>;
  value: string;
  onChange: (text: string) => void;
  onCommit: () => void;
  hint?: string | undefined;
  /** Called when the focus leaves the input. */
  onLeave?: (() => void) | undefined;
  /** Called for Backspace in an empty input. */
  onEditLast: () => void;
}

/** The query input with completions for the text at the cursor. */
export function QueryInput({ ref, value, onChange, onCommit, onEditLast, onLeave, hint = HINT }: Props) {
  const [cursor, setCursor] = useState(0);
  const [open, setOpen] = useState(false);
  const [chosen, setChosen] = useState(-1);
  const list = useId();
  const at = Math.min(cursor, value.length);
  const { data, isPlaceholderData: isStale } = useCompletion(value, toCharacterIndex(value, at), open);
  const items = open ? (data?.items ?? []) : [];
  const picked = items[chosen];
  const look = (input: HTMLInputElement) => {
    setCursor(input.selectionStart ?? 0);
    setOpen(true);
    setChosen(-1);
  };
  const take = (text: string) => {
    if (!data || isStale) return; // its offsets belong to an earlier text
    const head = value.slice(0, toUtf16Index(value, data.start)) + text + (/[:.]$/.test(text) ? "" : " ");
    onChange(head + value.slice(toUtf16Index(value, data.end)).trimStart());
    setCursor(head.length);
    setOpen(/[:.]$/.test(text));
    setChosen(-1);
  };
  const press = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.nativeEvent.isComposing) return; // the input method uses this key
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by !== undefined && items.length > 0) {
      event.preventDefault();
      setChosen((chosen + by + items.length + (chosen < 0 && by < 0 ? 1 : 0)) % items.length);
    } else if (picked && (event.key === "Enter" || event.key === "Tab")) {
      event.preventDefault();
      take(picked.text);
    } else if (event.key === "Enter") {
      event.preventDefault();
      setOpen(false);
      onCommit();
    } else if (event.key === "Escape" && open && value !== "") setOpen(false);
    else if (event.key === "Escape") event.currentTarget.blur();
    else if (event.key === "Backspace" && value === "") onEditLast();
  };
  return (
    <span className={styles.inputBox}>
      <input
        ref={ref}
        value={value}
        role="combobox"
        aria-label={hint}
        aria-expanded={items.length > 0}
        aria-controls={list}
        aria-autocomplete="list"
        aria-activedescendant={picked ? `${list}-${chosen}` : undefined}
        autoComplete="off"
        spellCheck={false}
        placeholder={hint}
        onChange={(event) => (onChange(event.currentTarget.value), look(event.currentTarget))}
        onClick={(event) => look(event.currentTarget)}
        onFocus={(event) => event.currentTarget.value === "" && look(event.currentTarget)}
        onBlur={() => (setOpen(false), onLeave?.())}
        onKeyDown={press}
        onKeyUp={(event) => MOVES.has(event.key) && look(event.currentTarget)}
      />
      <div
        id={list}
        role="listbox"
        aria-label="Suggestions"
        aria-busy={isStale}
        className={styles.list}
        hidden={items.length === 0}
      >
        {items.map((item, index) => (
          <div
            key={item.text}
            id={`${list}-${index}`}
            role="option"
            aria-selected={index === chosen}
            className={join(styles.option, index === chosen && styles.chosen)}
            onPointerDown={(event) => (event.preventDefault(), take(item.text))}
          >
            <span className="mono cut">{item.text}</span>
            <span className="sp" />
            <span className="t3 cut">{item.label}</span>
          </div>
        ))}
      </div>
    </span>
  );
}
