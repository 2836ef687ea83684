import { NativeSelect } from "@mantine/core";
import { useAssignees } from "../../api/ownership";
import controls from "../../ui/controls.module.css";

const FIXED = [
  { value: "", label: "Owner: anyone" },
  { value: "me", label: "Owner: me and my teams" },
  { value: "none", label: "Owner: nobody" },
];

/** A choice of the owner whose groups are listed. The value is that of the API's parameter. */
export function OwnerFilter({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const { data } = useAssignees();
  const teams = data?.teams.map((team) => ({ value: `team:${team}`, label: `Team ${team}` })) ?? [];
  const options = [...FIXED, ...teams];
  // A link can name a person, or a team that is not in the list.
  const isKnown = options.some((option) => option.value === value);
  return (
    <NativeSelect
      aria-label="Owner"
      data={isKnown ? options : [...options, { value, label: value.replace(/^team:/, "Team ") }]}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      classNames={{ input: controls.input! }}
    />
  );
}
