import type { DeadLetter } from "../../api/types";
import { Notice } from "../../ui/Panel";

/** The reason why the bytes of a dead letter's payload are unknown. */
export function MissingBytes({ letter, part }: { letter: DeadLetter; part: string }) {
  if (!letter.has_record) return <Notice title={`There is no ${part}`}>The error concerns no record.</Notice>;
  if (letter.original === "erased")
    return <Notice title={`The ${part} was erased`}>An administrator erased the content of this record.</Notice>;
  if (letter.source)
    return (
      <Notice title={`There are no bytes of the ${part}`}>
        A source connector read the record: what is known of it stands under Source record.
      </Notice>
    );
  if (letter.original === "forbidden")
    return <Notice title={`The ${part} was not fetched: not allowed`}>{letter.not_allowed}</Notice>;
  return (
    <Notice title={`The ${part} is not known`}>
      {letter.original === "expired"
        ? "The dead letter only points to it, and Kafka no longer keeps it."
        : "The dead letter does not carry it."}
    </Notice>
  );
}
