const GROUPED = new Intl.NumberFormat("en-US");
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

export type Zone = "utc" | "local";

/** 1732 → "1,732"; an unknown number is a dash. */
export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : GROUPED.format(value);
}

/** 0.2858 → "28.6 %". */
export function percent(part: number, whole: number, digits = 1): string {
  if (whole === 0) return "–";
  return `${((100 * part) / whole).toFixed(digits)} %`;
}

/** "1 record", "2 records". */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** Quote text at the end of a sentence. */
export function quoted(text: string): string {
  return `“${text}”${/[.!?…]$/.test(text) ? "" : "."}`;
}

/** 715 → "715 B", 20480 → "20.0 kB". */
export function bytes(size: number | null | undefined): string {
  if (size === null || size === undefined) return "null";
  if (size < 1000) return `${size} B`;
  if (size < 1e6) return `${(size / 1000).toFixed(1)} kB`;
  return `${(size / 1e6).toFixed(1)} MB`;
}

/** "21 Nov 03:04:12", with the year when it is not the present one. */
export function dateTime(iso: string | null | undefined, zone: Zone, now = Date.now()): string {
  const at = fields(iso, zone);
  return at ? `${day(at, now, zone)} ${at.time}` : "–";
}

/** "21 Nov 03:04". */
export function dateMinute(iso: string | null | undefined, zone: Zone, now = Date.now()): string {
  const at = fields(iso, zone);
  return at ? `${day(at, now, zone)} ${at.time.slice(0, 5)}` : "–";
}

/** "03:04:12" or, with `millis`, "03:04:12.043". */
export function timeOfDay(iso: string | null | undefined, zone: Zone, millis = false): string {
  const at = fields(iso, zone);
  return at ? at.time + (millis ? `.${at.millis}` : "") : "–";
}

/** "21 Nov". */
export function dayMonth(iso: string | null | undefined, zone: Zone): string {
  const at = fields(iso, zone);
  return at ? `${at.day} ${at.month}` : "–";
}

/** "Sat 21 Nov 03:12:30". */
export function clock(millis: number, zone: Zone): string {
  const at = fields(new Date(millis).toISOString(), zone);
  return at ? `${at.weekday} ${at.day} ${at.month} ${at.time}` : "";
}

/** "12 s ago", "31 min ago", "2 h ago", "3 d ago". */
export function ago(iso: string | null | undefined, now: number): string {
  if (!iso) return "never";
  const seconds = Math.max(0, Math.round((now - Date.parse(iso)) / 1000));
  if (seconds < 5) return "just now";
  return `${span(seconds * 1000)} ago`;
}

/** A length of time in its largest fitting unit: "45 s", "31 min", "26 h", "3 d". */
export function span(millis: number): string {
  if (millis < 1000) return `${Math.round(millis)} ms`;
  const seconds = Math.round(millis / 1000);
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} d`;
}

/** The width of a chart's column in words: 10 800 000 → "3 hours", 60 000 → "minute". */
export function bucket(millis: number): string {
  const units: [number, string][] = [
    [86_400_000, "day"],
    [3_600_000, "hour"],
    [60_000, "minute"],
    [1000, "second"],
  ];
  for (const [size, name] of units) {
    if (millis < size) continue;
    const n = Math.round((10 * millis) / size) / 10;
    return n === 1 ? name : `${n} ${name}s`;
  }
  return `${millis} ms`;
}

/** Format a duration: 12 → "12 ms", 1200 → "1.2 s". */
export function took(millis: number): string {
  return millis < 1000 ? `${Math.round(millis)} ms` : `${(millis / 1000).toFixed(1)} s`;
}

/** The initials of a user name: "operator-1" → "O1", "ada" → "AD". */
export function initials(name: string): string {
  const parts = name.split(/[\s._-]+/).filter(Boolean);
  const letters = parts.length > 1 ? `${parts[0]?.[0] ?? ""}${parts[1]?.[0] ?? ""}` : name.slice(0, 2);
  return letters.toUpperCase();
}

interface DateFields {
  weekday: string;
  day: string;
  month: string;
  year: number;
  time: string;
  millis: string;
}

function fields(iso: string | null | undefined, zone: Zone): DateFields | null {
  if (!iso) return null;
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return null;
  const utc = zone === "utc";
  const two = (n: number) => String(n).padStart(2, "0");
  return {
    weekday: DAYS[utc ? date.getUTCDay() : date.getDay()] ?? "",
    day: String(utc ? date.getUTCDate() : date.getDate()),
    month: MONTHS[utc ? date.getUTCMonth() : date.getMonth()] ?? "",
    year: utc ? date.getUTCFullYear() : date.getFullYear(),
    time: utc
      ? `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`
      : `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`,
    millis: String(date.getUTCMilliseconds()).padStart(3, "0"),
  };
}

function day(at: DateFields, now: number, zone: Zone): string {
  const present = new Date(now);
  const year = zone === "utc" ? present.getUTCFullYear() : present.getFullYear();
  return `${at.day} ${at.month}${at.year === year ? "" : ` ${at.year}`}`;
}
