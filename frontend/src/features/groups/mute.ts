import type { MuteUntil } from "../../api/groups";
import type { Mute } from "../../api/types";
import { count, dateMinute, plural, type Zone } from "../../lib/format";

const HOUR_MS = 3_600_000;

/** For how long, or up to what, a group is muted. */
export const CHOICES = [
  { value: "1h", label: "for 1 h", ms: HOUR_MS },
  { value: "8h", label: "for 8 h", ms: 8 * HOUR_MS },
  { value: "24h", label: "for 24 h", ms: 24 * HOUR_MS },
  { value: "7d", label: "for 7 d", ms: 7 * 24 * HOUR_MS },
  { value: "events", label: "until a number of further events" },
  { value: "rate", label: "until a number of events in one hour" },
  { value: "person", label: "until somebody reopens it" },
] as const;

export type Choice = (typeof CHOICES)[number]["value"];

/** What the choice asks of the server; `n` is the number of events. */
export function muteUntil(choice: Choice, n: number, now: number): MuteUntil {
  const found = CHOICES.find((one) => one.value === choice);
  if (found && "ms" in found) return { until: new Date(now + found.ms).toISOString() };
  if (choice === "events") return { events: n };
  return choice === "rate" ? { rate: n } : {};
}

/** What muting so will do, to end a sentence. */
export function willReturn(choice: Choice, n: number): string {
  const found = CHOICES.find((one) => one.value === choice);
  if (found && "ms" in found) return `comes back by itself after ${found.label.replace("for ", "")}`;
  if (choice === "person") return "stays away until somebody reopens it";
  return `comes back by itself ${choice === "events" ? `after ${plural(n, "more event")}` : `once ${plural(n, "event")} came within an hour`}`;
}

/** When a muted group comes back. */
export function muteWords(mute: Mute, zone: Zone, now: number): string {
  const parts = [
    mute.until && `until ${dateMinute(mute.until, zone, now)}`,
    mute.events !== null && `${count(mute.seen)} of ${plural(mute.events, "event")} so far`,
    mute.rate !== null && `until ${plural(mute.rate, "event")} in an hour`,
  ];
  return parts.filter(Boolean).join(" or ") || "until somebody reopens it";
}
