import { useClusters } from "../../api/clusters";
import { useNewestDeadLetter } from "../../api/deadLetters";
import { plural } from "../../lib/format";
import { rangeWords } from "../../lib/ranges";
import { spanWords, type Span } from "../../lib/span";
import { Button } from "../../ui/controls";
import { Glyph, Notice } from "../../ui/Panel";
import { NewestRecord } from "../setup/NewestRecord";
import { SetupSteps } from "../setup/SetupSteps";

interface Props {
  status: string;
  span: Span;
  counts: Record<string, number>;
  onWiden: () => void;
  /** Ends the filter by owner, if there is one. */
  onAnyOwner?: (() => void) | undefined;
}

/** The notice of a tab without groups in the chosen time. */
export function EmptyGroups({ status, span, counts, onWiden, onAnyOwner }: Props) {
  const widenButton = span.narrowed && <Button onClick={() => onWiden()}>Back to {rangeWords(span.range)}</Button>;
  const { data: newest } = useNewestDeadLetter(status === "unresolved" && !onAnyOwner);
  const { data: clusters } = useClusters(newest === null);
  if (onAnyOwner)
    return (
      <Notice
        title={`No ${status} groups of this owner in ${spanWords(span)}`}
        actions={<Button onClick={onAnyOwner}>Groups of anyone</Button>}
      >
        Choose another owner, a longer time, or another tab.
      </Notice>
    );
  if (status !== "unresolved")
    return (
      <Notice title={`No ${status} groups in ${spanWords(span)}`} actions={widenButton}>
        Choose a longer time, or another tab.
      </Notice>
    );
  const hidden = (["muted", "resolved"] as const)
    .filter((state) => counts[state])
    .map((state) => plural(counts[state] ?? 0, `${state} group`));
  if (newest === null && clusters) return <SetupSteps clusters={clusters} />;
  return (
    <Notice
      title={
        <>
          <Glyph tone="passed">✓</Glyph> No unresolved failures in {spanWords(span)}.
        </>
      }
      actions={widenButton}
    >
      {hidden.length > 0 ? (
        `All failures in this time belong to ${hidden.join(" and ")}.`
      ) : newest ? (
        <NewestRecord row={newest} />
      ) : (
        "Nothing failed."
      )}
    </Notice>
  );
}
