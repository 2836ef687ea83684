import type { BulkStatus } from "../../api/bulkFixes";
import type { Tone } from "../../lib/states";

/** The states of a bulk fix, as they are called on screen. */
export const BULK_STATUS: Record<BulkStatus, { label: string; tone: Tone }> = {
  previewed: { label: "Not started", tone: "plain" },
  running: { label: "Changing", tone: "accent" },
  done: { label: "Drafts made", tone: "passed" },
  failed: { label: "Failed", tone: "failed" },
  cancelled: { label: "Cancelled", tone: "warn" },
  undoing: { label: "Undoing", tone: "accent" },
  undone: { label: "Undone", tone: "plain" },
};
