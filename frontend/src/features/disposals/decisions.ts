import type { Decision, Disposed } from "../../api/disposals";

interface DecisionTexts {
  label: string;
  submit: string;
  explanation: string;
}

const SKIPPED = "Replays skip these records until they are restored.";
const STILL_LISTED = "Nothing in Kafka changes. The lists and the counts of groups still include them; find them with";

/** The texts of each decision's dialog. */
export const DECISIONS: Record<Decision, DecisionTexts> = {
  discard: {
    label: "Discard",
    submit: "Discard",
    explanation: `${SKIPPED} ${STILL_LISTED} replay:discarded.`,
  },
  park: {
    label: "Park",
    submit: "Park",
    explanation: `For records that you may replay later. ${SKIPPED} ${STILL_LISTED} replay:parked.`,
  },
  handled_elsewhere: {
    label: "Handled elsewhere",
    submit: "Handled elsewhere",
    explanation: `For records whose problem was fixed by other means. ${SKIPPED} ${STILL_LISTED} replay:handled.`,
  },
  restore: {
    label: "Restore",
    submit: "Restore",
    explanation: "This reverses the earlier decision, whoever made it. The records can be replayed again.",
  },
};

const DISPOSED: Record<Disposed, string> = { discarded: "Discarded", parked: "Parked", handled: "Handled elsewhere" };

/** Return the label of a disposal, such as "Parked". */
export function disposalLabel(kind: Disposed): string {
  return DISPOSED[kind];
}
