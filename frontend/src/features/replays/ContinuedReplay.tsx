import { Link } from "react-router";
import type { Selection } from "../../api/replayTypes";
import { replayName } from "../../lib/naming";

/** A sentence about the replay whose unfinished records a selection has. */
export function ContinuedReplay({ selection: { continues } }: { selection: Pick<Selection, "continues"> }) {
  if (continues == null) return null;
  return (
    <>
      Continues <Link to={`/replays/${continues}`}>{replayName(continues)}</Link>.{" "}
    </>
  );
}
