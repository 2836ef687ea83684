import { useLocation, useNavigate } from "react-router";
import { TabRow } from "../../ui/TabRow";

const SECTIONS = [
  { value: "/settings/clusters", label: "Clusters" },
  { value: "/settings/people", label: "People and teams" },
  { value: "/settings/dialects", label: "Dialects" },
  { value: "/settings/registries", label: "Schema registries" },
  { value: "/settings/channels", label: "Channels" },
] as const;

/** The row of tabs that leads to the sections of the settings. */
export function SettingsTabs() {
  const { pathname } = useLocation();
  const navigate = useNavigate();
  const current = SECTIONS.find(({ value }) => pathname.startsWith(value))?.value ?? SECTIONS[0].value;
  return <TabRow value={current} items={SECTIONS} onChange={(next) => void navigate(next)} />;
}
