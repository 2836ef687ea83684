import type { ApiToken } from "../../api/account";
import type { Tone } from "../../lib/states";

const RIGHTS: Record<string, string> = {
  viewer: "Read dead letters, groups, replays, connectors and the audit trail.",
  operator: "Fix, replay, set aside and export dead letters, and control connectors. Includes viewer.",
  "payload reader": "See keys, values and headers of records. Requires a role as well.",
  approver: "Approve replays that other people planned. Includes operator.",
};

const STATES: Record<ApiToken["state"], { label: string; glyph: string; tone: Tone }> = {
  active: { label: "Active", glyph: "✓", tone: "passed" },
  expired: { label: "Expired", glyph: "–", tone: "plain" },
  revoked: { label: "Revoked", glyph: "–", tone: "plain" },
  password_changed: { label: "Ended by a password change", glyph: "–", tone: "plain" },
  rights_lost: { label: "Ended with a right", glyph: "–", tone: "plain" },
  deactivated: { label: "Ended with the account", glyph: "–", tone: "plain" },
};

/** Describe the actions that a right allows. */
export function rightDescription(right: string): string {
  return RIGHTS[right] ?? "";
}

/** Return the chip of a token's state. */
export function tokenState(state: ApiToken["state"]): { label: string; glyph: string; tone: Tone } {
  return STATES[state];
}
