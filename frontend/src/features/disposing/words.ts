import type { Decision, Disposed } from "../../api/disposals";

interface Words {
  label: string;
  yes: string;
  holds: string;
}

const STAYS = "Nothing in Kafka changes. They stay in the lists, found by";
const COUNTED = "and their groups count them as before.";

/** How each decision is asked for. */
export const DECISIONS: Record<Decision, Words> = {
  discard: {
    label: "Discard",
    yes: "Discard",
    holds: `No replay sends them until they are restored. ${STAYS} replay:discarded, ${COUNTED}`,
  },
  park: {
    label: "Park",
    yes: "Park",
    holds: `No replay sends them until they are restored: not now, perhaps later. ${STAYS} replay:parked, ${COUNTED}`,
  },
  handled_elsewhere: {
    label: "Handled elsewhere",
    yes: "Handled elsewhere",
    holds: `The problem was fixed another way, so no replay sends them. ${STAYS} replay:handled, ${COUNTED}`,
  },
  restore: {
    label: "Restore",
    yes: "Restore",
    holds: "This reverses the earlier decision, whoever made it. The records can be replayed again.",
  },
};

const DISPOSED: Record<Disposed, string> = { discarded: "Discarded", parked: "Parked", handled: "Handled elsewhere" };

/** What a record is said to be. */
export function disposedWord(kind: Disposed): string {
  return DISPOSED[kind];
}
