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
}

/** What stands for the groups where a tab has none in this time. */
export function Empty({ status, span, counts, onWiden }: Props) {
  const back = span.narrowed && <Button onClick={() => onWiden()}>Back to {rangeWords(span.range)}</Button>;
  const { data: newest } = useNewestDeadLetter(status === "unresolved");
  const { data: clusters } = useClusters(newest === null);
  if (status !== "unresolved")
    return (
      <Notice title={`No ${status} groups in ${spanWords(span)}`} actions={back}>
        Choose a longer time, or another tab.
      </Notice>
    );
  const away = (["muted", "resolved"] as const)
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
      actions={back}
    >
      {away.length > 0 ? (
        `What failed is of ${away.join(" and ")}.`
      ) : newest ? (
        <NewestRecord row={newest} />
      ) : (
        "Nothing failed."
      )}
    </Notice>
  );
}
