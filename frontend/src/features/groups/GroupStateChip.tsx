import { groupState } from "../../lib/states";
import { Chip } from "../../ui/Panel";

/** A group's state, such as "New" or "Muted". */
export function GroupStateChip({ state }: { state: string }) {
  const { label, glyph, tone } = groupState(state);
  return (
    <Chip tone={tone}>
      {glyph && <span aria-hidden="true">{glyph}</span>}
      {label}
    </Chip>
  );
}
