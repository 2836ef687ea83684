import type { Holder, Team } from "../../api/people";

/** The roles in the order of their columns, with what each allows. */
export const ROLES = [
  { role: "viewer", label: "Viewer", may: "See counts, errors and groups, not values." },
  { role: "payload reader", label: "Payload reader", may: "See keys, values and headers. Includes viewer." },
  { role: "operator", label: "Operator", may: "Fix, replay and set aside, and control connectors. Includes viewer." },
  { role: "approver", label: "Approver", may: "Approve the replays of other people. Includes operator." },
  { role: "admin", label: "Admin", may: "Everything, and decide who has which roles." },
] as const;

/** Return a holder's roles after one was ticked or cleared. The server leaves out those that others include. */
export function toggled(holder: Pick<Holder, "roles">, role: string): string[] {
  return holder.roles.includes(role) ? holder.roles.filter((one) => one !== role) : [...holder.roles, role];
}

/** Return where a person or a group comes from. */
export function origin(holder: Holder): string {
  if (holder.kind === "group")
    return `sign-in group, ${holder.members.length} people`.replace(/ 1 people$/, " 1 person");
  if (holder.invited_by) return `invited by ${holder.invited_by}`;
  return holder.groups.length > 0 ? `in ${holder.groups.join(", ")}` : "local account";
}

/** Return the patterns that a team owns in one sentence. */
export function ownedText({ topics, connectors }: Pick<Team, "topics" | "connectors">): string {
  const all = [...topics, ...connectors];
  if (all.length === 0) return "owns nothing yet";
  const more = all.length > 3 ? ` and ${all.length - 3} more` : "";
  return `roles on ${all.slice(0, 3).join(", ")}${more}`;
}

/** Return the lines or comma-separated parts of a text without blanks. */
export function patterns(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}
