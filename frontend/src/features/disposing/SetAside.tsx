import { useState } from "react";
import type { Decision } from "../../api/disposals";
import type { SelectionRequest } from "../../api/replays";
import { useMayWrite } from "../../api/session";
import { Button, MenuButton } from "../../ui/controls";
import { DecideDialog } from "./DecideDialog";
import { DECISIONS } from "./words";

interface Props {
  what: SelectionRequest;
  /** What is decided about: "this record", "300 records". */
  of: string;
  /** What can be decided; all where it isn't told. */
  only?: readonly Decision[];
  onDone?: () => void;
}

const ALL: readonly Decision[] = ["discard", "park", "handled_elsewhere", "restore"];

/** Decides that records are not to be replayed, or takes that back. */
export function SetAside({ what, of, only = ALL, onDone }: Props) {
  const may = useMayWrite();
  const [asking, setAsking] = useState<Decision | null>(null);
  if (!may.allowed) return <Button barred={may.reason}>Set aside ▾</Button>;
  return (
    <>
      <MenuButton
        label="Set aside ▾"
        items={only.map((one) => ({ label: `${DECISIONS[one].label}…`, onClick: () => setAsking(one) }))}
      />
      <DecideDialog decision={asking} what={what} of={of} onClose={() => setAsking(null)} onDone={onDone} />
    </>
  );
}
