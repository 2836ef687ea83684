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
      { keys: ["←", "→"], does: "move over the columns of the focused chart" },
      { keys: ["Shift", "←", "→"], does: "select columns" },
      { keys: ["Space"], does: "narrow the time range to the selected columns" },
      { keys: ["Esc"], does: "clear the selection; without one, widen the time range" },
    ],
  },
  {
    screen: "Groups",
    path: /^\/groups(\/|$)/,
    rows: [
      { keys: ["j", "k"], does: "next and previous group" },
      { keys: ["↵"], does: "open the group’s records" },
      { keys: ["x"], does: "tick the group" },
      { keys: ["Shift", "x"], does: "select a range from the last selected row" },
      { keys: ["m"], does: "mute the selected groups, or the current group" },
      { keys: ["a"], does: "assign the group to me, or unassign it" },
      { keys: ["r"], does: "plan a replay of it" },
      { keys: ["Esc"], does: "clear the selection; without one, widen the time range" },
      { keys: ["[", "]"], does: "previous and next tab" },
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
      { keys: ["Shift", "x"], does: "select a range from the last selected row" },
      { keys: ["r"], does: "plan a replay of the selected records" },
    ],
  },
  { screen: "Replay", path: /^\/replays\/\d+/, rows: [{ keys: ["Space"], does: "pause or resume" }] },
];

const EVERYWHERE: readonly KeyRow[] = [
  { keys: ["?"], does: "show keyboard shortcuts" },
  { keys: ["Ctrl", "K"], does: "go to a name, or topic/partition/offset; ⌘ K too, and / but for Records" },
  ...PLACES.map(({ key, label }) => ({ keys: ["g", key], does: `then: ${label}` })),
  { keys: ["Esc"], does: "close the open dialog or menu" },
];

/** The keys of the screen at this path, and those that every screen has. */
export function keysAt(path: string): { screen: string; rows: readonly KeyRow[] }[] {
  const here = SCREENS.find((one) => one.path.test(path));
  return [
    ...(here && here.rows.length > 0 ? [{ screen: here.screen, rows: here.rows }] : []),
    { screen: "Everywhere", rows: EVERYWHERE },
  ];
}
