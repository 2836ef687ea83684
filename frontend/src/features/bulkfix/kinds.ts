import type { FixProgram } from "../../api/bulkFixes";

/** The kinds of changes, as they are called on screen. */
export const KINDS: Record<FixProgram["kind"], string> = {
  jq: "jq program",
  patch: "JSON Patch",
  fields: "form",
  offline: "edited file",
};
