import type { ShownState } from "../../api/types";
import { ago } from "../../lib/format";
import { connectorState, taskState } from "../../lib/states";
import { useNow } from "../../lib/zone";
import { Chip } from "../../ui/Panel";

/** The state of a connector as its tasks make it, with who paused or stopped it, when and why. */
export function ConnectorStateChip({ shown }: { shown: ShownState }) {
  const now = useNow(10_000);
  const { glyph, tone } = connectorState(shown.state);
  const since = shown.since ? `, ${ago(shown.since, now)}` : "";
  return (
    <>
      <Chip tone={tone} wraps>
        <span aria-hidden="true">{glyph}</span>
        {shown.text}
      </Chip>
      {(shown.by || since) && (
        <span className="s t3">
          {shown.by ? `by ${shown.by}${since}` : since.slice(2)}
          {shown.reason && `: “${shown.reason}”`}
        </span>
      )}
    </>
  );
}

export function StateChip({ state }: { state: string }) {
  const { glyph, tone } = taskState(state);
  return (
    <Chip tone={tone}>
      <span aria-hidden="true">{glyph}</span>
      {state.toLowerCase()}
    </Chip>
  );
}
