import type { MuteUntil } from "../../api/groups";
import type { Mute } from "../../api/types";
import { count, dateMinute, plural, type Zone } from "../../lib/format";

const HOUR_MS = 3_600_000;

/** The conditions that can end a mute. */
export const MUTE_CHOICES = [
  { value: "1h", label: "for 1 h", ms: HOUR_MS },
  { value: "8h", label: "for 8 h", ms: 8 * HOUR_MS },
  { value: "24h", label: "for 24 h", ms: 24 * HOUR_MS },
  { value: "7d", label: "for 7 d", ms: 7 * 24 * HOUR_MS },
  { value: "events", label: "until a number of further events" },
  { value: "rate", label: "until a number of events in one hour" },
  { value: "person", label: "until somebody reopens it" },
] as const;

export type MuteChoice = (typeof MUTE_CHOICES)[number]["value"];

/** Return the request body of a choice; `events` is the number of events. */
export function muteUntil(choice: MuteChoice, events: number, now: number): MuteUntil {
  const found = MUTE_CHOICES.find((option) => option.value === choice);
  if (found && "ms" in found) return { until: new Date(now + found.ms).toISOString() };
  if (choice === "events") return { events };
  return choice === "rate" ? { rate: events } : {};
}

/** Return the predicate of "A muted group …": the condition on which it returns. */
export function returnCondition(choice: MuteChoice, events: number): string {
  const found = MUTE_CHOICES.find((option) => option.value === choice);
  if (found && "ms" in found) return `returns automatically after ${found.label.replace("for ", "")}`;
  if (choice === "person") return "stays muted until somebody reopens it";
  return choice === "events"
    ? `returns automatically after ${plural(events, "more event")}`
    : `returns automatically after ${plural(events, "event")} in one hour`;
}

/** Return the end of a mute, such as "until 21 Nov 04:12". */
export function muteLabel(mute: Mute, zone: Zone, now: number): string {
  const parts = [
    mute.until && `until ${dateMinute(mute.until, zone, now)}`,
    mute.events !== null && `${count(mute.seen)} of ${plural(mute.events, "event")} so far`,
    mute.rate !== null && `until ${plural(mute.rate, "event")} in an hour`,
  ];
  return parts.filter(Boolean).join(" or ") || "until somebody reopens it";
}
