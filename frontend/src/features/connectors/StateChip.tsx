import { taskState } from "../../lib/states";
import { Chip } from "../../ui/Panel";

export function StateChip({ state }: { state: string }) {
  const { glyph, tone } = taskState(state);
  return (
    <Chip tone={tone}>
      <span aria-hidden="true">{glyph}</span>
      {state.toLowerCase()}
    </Chip>
  );
}
