import { NativeSelect, TextInput } from "@mantine/core";
import type { ConnectorOption } from "../../api/connectorConfigs";
import { LinkButton } from "../../ui/controls";
import controls from "../../ui/controls.module.css";
import { join } from "../../ui/Panel";
import styles from "./ConnectorEditor.module.css";

export interface OptionRowProps {
  option: ConnectorOption;
  /** The value in the edited configuration; undefined if the option is not set. */
  value: string | undefined;
  /** The value in the opened configuration. */
  before: string | undefined;
  isNew: boolean;
  hidden: boolean;
  onChange: (value: string | undefined) => void;
}

/** One option: its name and description, a field for its value, its problems, and its value before. */
export function OptionRow({ option, value, before, isNew, hidden, onChange }: OptionRowProps) {
  const { name, doc, errors, required, type } = option;
  const id = `option-${name}`;
  const changed = value !== before;
  const facts = [
    type,
    required && "required",
    option.importance && `${option.importance} importance`,
    option.default !== null && option.default !== "" && `default ${option.default}`,
    recommendation(option.recommended),
  ];
  const fallback =
    option.default === null || option.default === "" ? (required ? "required" : "not set") : option.default;
  const shared = {
    id,
    "aria-label": name,
    "aria-required": required,
    error: errors.length > 0 && errors.join("; "),
    errorProps: { "data-testid": "option-error" },
    classNames: { input: controls.input!, root: styles.field!, error: styles.error! },
  };
  return (
    <div className={join(styles.option, changed && styles.changed)} data-testid="option" data-option={name}>
      <div className={styles.about}>
        <label htmlFor={id} className="mono b">
          {name}
        </label>
        {doc && <div className="s t2">{doc.replaceAll("`", "")}</div>}
        <div className="xs t3">
          {facts.filter(Boolean).join(", ")}
          {hidden && !changed && ". The value is hidden; leave it to keep the stored one"}
        </div>
      </div>
      {type === "boolean" ? (
        <NativeSelect
          {...shared}
          value={value ?? ""}
          data={[
            { value: "", label: `default: ${fallback}` },
            ...[...new Set(["true", "false", ...(value ? [value] : [])])].map((one) => ({ value: one, label: one })),
          ]}
          onChange={(event) => onChange(event.currentTarget.value || undefined)}
        />
      ) : (
        <TextInput
          {...shared}
          list={option.recommended.length > 0 ? `${id}-values` : undefined}
          value={value ?? ""}
          placeholder={fallback}
          type={type === "password" ? "password" : "text"}
          autoComplete={type === "password" ? "new-password" : "off"}
          spellCheck={false}
          onChange={(event) => onChange(event.currentTarget.value === "" ? undefined : event.currentTarget.value)}
        />
      )}
      {option.recommended.length > 0 && type !== "boolean" && (
        <datalist id={`${id}-values`}>
          {option.recommended.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
      <div className={styles.under}>
        {changed && !isNew && (
          <div className="s t2">
            {before === undefined ? "Was not set." : `Was ${before || "empty"}.`}{" "}
            <LinkButton onClick={() => onChange(before)}>Restore</LinkButton>
          </div>
        )}
        {value === "" && <div className="s t3">Set to an empty text.</div>}
      </div>
    </div>
  );
}

const MOST_NAMED = 5;

/** Return the recommended values if they are few; the field offers all of them. */
function recommendation(values: readonly string[]): string | false {
  if (values.length === 0 || values.length > MOST_NAMED) return false;
  return `recommended ${values.map((one) => one || "empty").join(" or ")}`;
}
