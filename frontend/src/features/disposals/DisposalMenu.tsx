import { useState } from "react";
import type { Decision } from "../../api/disposals";
import type { SelectionRequest } from "../../api/replays";
import { useMayWrite } from "../../api/session";
import { Button, MenuButton } from "../../ui/controls";
import { DECISIONS } from "./decisions";
import { DisposalDialog } from "./DisposalDialog";

interface Props {
  what: SelectionRequest;
  /** The records, for the dialog's title: "this record", "300 records". */
  subject: string;
  /** The decisions to offer; all by default. */
  decisions?: readonly Decision[];
  onDone?: () => void;
}

const ALL_DECISIONS: readonly Decision[] = ["discard", "park", "handled_elsewhere", "restore"];

/** A menu to discard, park or restore records. */
export function DisposalMenu({ what, subject, decisions = ALL_DECISIONS, onDone }: Props) {
  const may = useMayWrite();
  const [chosen, setChosen] = useState<Decision | null>(null);
  if (!may.allowed) return <Button barred={may.reason}>Set aside ▾</Button>;
  return (
    <>
      <MenuButton
        label="Set aside ▾"
        items={decisions.map((decision) => ({
          label: `${DECISIONS[decision].label}…`,
          onClick: () => setChosen(decision),
        }))}
      />
      <DisposalDialog decision={chosen} what={what} subject={subject} onClose={() => setChosen(null)} onDone={onDone} />
    </>
  );
}
