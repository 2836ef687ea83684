import type { IconName } from "./icons";

interface Screen {
  to: string;
  label: string;
  icon: IconName;
  /** The key that follows `g`. */
  key: string;
}

/** The screens in the navigation, in display order. */
export const SCREENS: readonly Screen[] = [
  { to: "/", label: "Overview", icon: "overview", key: "d" },
  { to: "/trends", label: "Trends", icon: "trends", key: "h" },
  { to: "/groups", label: "Groups", icon: "groups", key: "g" },
  { to: "/records", label: "Records", icon: "records", key: "r" },
  { to: "/fixes", label: "Fixes", icon: "fixes", key: "f" },
  { to: "/replays", label: "Replays", icon: "replays", key: "j" },
  { to: "/connectors", label: "Connectors", icon: "connectors", key: "c" },
  { to: "/alerts", label: "Alerts", icon: "alerts", key: "l" },
  { to: "/topics", label: "Topics", icon: "topics", key: "t" },
  { to: "/exports", label: "Exports", icon: "exports", key: "e" },
  { to: "/audit", label: "Audit", icon: "audit", key: "a" },
  { to: "/settings", label: "Settings", icon: "settings", key: "s" },
];
