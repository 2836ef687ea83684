import { SCREENS } from "./screens";

export interface Shortcut {
  keys: readonly string[];
  action: string;
}

interface ScreenShortcuts {
  screen: string;
  path: RegExp;
  rows: readonly Shortcut[];
}

/** The shortcuts of each screen; the first matching path is used. */
const SCREEN_SHORTCUTS: readonly ScreenShortcuts[] = [
  {
    screen: "Overview",
    path: /^\/$/,
    rows: [
      { keys: ["←", "→"], action: "move over the columns of the focused chart" },
      { keys: ["Shift", "←", "→"], action: "select columns" },
      { keys: ["Space"], action: "narrow the time range to the selected columns" },
      { keys: ["Esc"], action: "clear the selection; without one, widen the time range" },
    ],
  },
  {
    screen: "Trends",
    path: /^\/trends\/?$/,
    rows: [
      { keys: ["←", "→"], action: "move over the columns of the focused chart" },
      { keys: ["Shift", "←", "→"], action: "select columns" },
      { keys: ["Space"], action: "narrow the time range to the selected columns" },
      { keys: ["Esc"], action: "clear the selection; without one, widen the time range" },
    ],
  },
  {
    screen: "Groups",
    path: /^\/groups(\/|$)/,
    rows: [
      { keys: ["j", "k"], action: "next and previous group" },
      { keys: ["↵"], action: "open the group’s records" },
      { keys: ["x"], action: "tick the group" },
      { keys: ["Shift", "x"], action: "select a range from the last selected row" },
      { keys: ["m"], action: "mute the selected groups, or the current group" },
      { keys: ["a"], action: "assign the group to me, or unassign it" },
      { keys: ["r"], action: "plan a replay of it" },
      { keys: ["Esc"], action: "clear the selection; without one, widen the time range" },
      { keys: ["[", "]"], action: "previous and next tab" },
    ],
  },
  { screen: "Fix and replay", path: /^\/records\/[^/]+\/fix$/, rows: [] },
  {
    screen: "Record",
    path: /^\/records\/[^/]+/,
    rows: [
      { keys: ["j", "k"], action: "record below and above" },
      { keys: ["e"], action: "fix it" },
      { keys: ["r"], action: "plan a replay of it" },
      { keys: ["Esc"], action: "back to the records" },
    ],
  },
  {
    screen: "Records",
    path: /^\/records\/?$/,
    rows: [
      { keys: ["/"], action: "filter" },
      { keys: ["j", "k"], action: "record below and above; ↓ and ↑ too" },
      { keys: ["↵"], action: "open it" },
      { keys: ["x"], action: "tick it" },
      { keys: ["Shift", "x"], action: "select a range from the last selected row" },
      { keys: ["r"], action: "plan a replay of the selected records" },
    ],
  },
  {
    screen: "Topic",
    path: /^\/topics\/[^/]+/,
    rows: [
      { keys: ["j", "k"], action: "record below and above" },
      { keys: ["Esc"], action: "close the record" },
    ],
  },
  { screen: "Audit", path: /^\/audit\/?$/, rows: [{ keys: ["/"], action: "search" }] },
  { screen: "Replay", path: /^\/replays\/\d+/, rows: [{ keys: ["Space"], action: "pause or resume" }] },
];

const GLOBAL_SHORTCUTS: readonly Shortcut[] = [
  { keys: ["?"], action: "show keyboard shortcuts" },
  {
    keys: ["Ctrl", "K"],
    action: "go to a name, or topic/partition/offset; ⌘ K too, and / on screens without a search of their own",
  },
  ...SCREENS.map(({ key, label }) => ({ keys: ["g", key], action: `then: ${label}` })),
  { keys: ["Esc"], action: "close the open dialog or menu" },
];

/** Return whether the screen at this path uses the key itself. */
export function hasShortcut(path: string, key: string): boolean {
  return findScreen(path)?.rows.some(({ keys }) => keys.length === 1 && keys[0] === key) ?? false;
}

/** Return the shortcuts of the screen at this path, and the global ones. */
export function shortcutsAt(path: string): { screen: string; rows: readonly Shortcut[] }[] {
  const here = findScreen(path);
  return [
    ...(here && here.rows.length > 0 ? [{ screen: here.screen, rows: here.rows }] : []),
    { screen: "Everywhere", rows: GLOBAL_SHORTCUTS },
  ];
}

function findScreen(path: string): ScreenShortcuts | undefined {
  return SCREEN_SHORTCUTS.find((one) => one.path.test(path));
}
