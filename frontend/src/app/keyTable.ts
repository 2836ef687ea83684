import { SCREENS as PLACES } from "./screens";

export interface KeyRow {
  keys: readonly string[];
  does: string;
}

interface ScreenKeys {
  screen: string;
  path: RegExp;
  rows: readonly KeyRow[];
}

/** What each screen does at which key; the first path that matches counts. */
const SCREENS: readonly ScreenKeys[] = [
  {
    screen: "Overview",
    path: /^\/$/,
    rows: [
      { keys: ["←", "→"], does: "over the columns of a chart that has the focus" },
      { keys: ["Shift", "←", "→"], does: "select columns" },
      { keys: ["Space"], does: "narrow the time to them" },
      { keys: ["Esc"], does: "give them up; without any, widen the time again" },
    ],
  },
  {
    screen: "Groups",
    path: /^\/groups(\/|$)/,
    rows: [
      { keys: ["j", "k"], does: "next and previous group" },
      { keys: ["↵"], does: "open the group’s records" },
      { keys: ["x"], does: "tick the group" },
      { keys: ["Shift", "x"], does: "tick all from the last ticked one" },
      { keys: ["m"], does: "mute what is ticked, or the group" },
      { keys: ["a"], does: "assign it to me, or give it back" },
      { keys: ["r"], does: "plan a replay of it" },
      { keys: ["Esc"], does: "untick; without ticks, widen the time again" },
      { keys: ["[", "]"], does: "tab on the left and on the right" },
    ],
  },
  { screen: "Fix and replay", path: /^\/records\/[^/]+\/fix$/, rows: [] },
  {
    screen: "Record",
    path: /^\/records\/[^/]+/,
    rows: [
      { keys: ["j", "k"], does: "record below and above" },
      { keys: ["e"], does: "fix it" },
      { keys: ["r"], does: "plan a replay of it" },
      { keys: ["Esc"], does: "back to the records" },
    ],
  },
  {
    screen: "Records",
    path: /^\/records\/?$/,
    rows: [
      { keys: ["/"], does: "filter" },
      { keys: ["j", "k"], does: "record below and above; ↓ and ↑ too" },
      { keys: ["↵"], does: "open it" },
      { keys: ["x"], does: "tick it" },
      { keys: ["Shift", "x"], does: "tick all from the last ticked one" },
      { keys: ["r"], does: "plan a replay of what is ticked" },
    ],
  },
  { screen: "Replay", path: /^\/replays\/\d+/, rows: [{ keys: ["Space"], does: "pause, and go on" }] },
];

const EVERYWHERE: readonly KeyRow[] = [
  { keys: ["?"], does: "these keys" },
  { keys: ["Ctrl", "K"], does: "go to a name, or topic/partition/offset; ⌘ K too, and / but for Records" },
  ...PLACES.map(({ key, label }) => ({ keys: ["g", key], does: `then: ${label}` })),
  { keys: ["Esc"], does: "close what is open" },
];

/** The keys of the screen at this path, and those that every screen has. */
export function keysAt(path: string): { screen: string; rows: readonly KeyRow[] }[] {
  const here = SCREENS.find((one) => one.path.test(path));
  return [
    ...(here && here.rows.length > 0 ? [{ screen: here.screen, rows: here.rows }] : []),
    { screen: "Everywhere", rows: EVERYWHERE },
  ];
}
