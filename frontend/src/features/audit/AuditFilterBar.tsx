import { Checkbox, NativeSelect, TextInput } from "@mantine/core";
import { useEffect, useRef } from "react";
import { useAuditOptions } from "../../api/audit";
import { useKeys } from "../../lib/keys";
import controls from "../../ui/controls.module.css";
import { LinkButton } from "../../ui/controls";
import styles from "./Audit.module.css";
import { DayRange } from "./DayRange";
import { isFiltered, showsReads, withoutFilters, withValue, type AuditField } from "./auditFilter";

const OUTCOMES = ["done", "failed", "refused", "unknown"];

interface Props {
  params: URLSearchParams;
  onChange: (params: URLSearchParams) => void;
}

/** The search box and the filters of the audit screen. Each change goes to the address. */
export function AuditFilterBar({ params, onChange }: Props) {
  const { data } = useAuditOptions();
  const search = useRef<HTMLInputElement>(null);
  const text = params.get("text") ?? "";
  useEffect(() => {
    if (search.current) search.current.value = text; // the box follows the address, also after a step back
  }, [text]);
  const set = (name: AuditField | "reads", value: string) => onChange(withValue(params, name, value.trim()));
  useKeys({
    "/": (event) => {
      event.preventDefault();
      search.current?.focus();
    },
  });
  const select = (name: AuditField, label: string, all: string, values: readonly string[] = []) => {
    const value = params.get(name) ?? "";
    return (
      <NativeSelect
        size="xs"
        aria-label={label}
        value={value}
        data={[{ value: "", label: all }, ...new Set(value ? [...values, value] : values)]}
        onChange={(event) => set(name, event.currentTarget.value)}
        classNames={{ input: controls.input! }}
      />
    );
  };
  return (
    <div className={styles.filters} role="search" aria-label="Audit entries">
      <form
        className={styles.search}
        onSubmit={(event) => {
          event.preventDefault();
          set("text", search.current?.value ?? "");
        }}
      >
        <TextInput
          ref={search}
          size="xs"
          type="search"
          aria-label="Search"
          placeholder="Search actors, sentences and reasons"
          defaultValue={text}
          onBlur={(event) => {
            if (event.currentTarget.value.trim() !== text) set("text", event.currentTarget.value);
          }}
          maxLength={300}
          spellCheck={false}
          autoComplete="off"
          classNames={{ input: controls.input! }}
        />
      </form>
      {select("actor", "Actor", "All actors", data?.actors)}
      {select("action", "Action", "All actions", data?.actions)}
      {select("type", "Object type", "All objects", data?.types)}
      {select("outcome", "Outcome", "All outcomes", OUTCOMES)}
      <DayRange params={params} onChange={onChange} />
      <Checkbox
        size="xs"
        label="Show reads of payloads"
        checked={showsReads(params)}
        onChange={(event) => set("reads", event.currentTarget.checked ? "true" : "")}
      />
      {isFiltered(params) && (
        <LinkButton onClick={() => onChange(withoutFilters(params))}>Clear the filters</LinkButton>
      )}
    </div>
  );
}
