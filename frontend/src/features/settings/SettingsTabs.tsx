import { useLocation, useNavigate } from "react-router";
import { TabRow } from "../../ui/TabRow";
import { SETTINGS_SECTIONS } from "./sections";

/** The row of tabs that leads to the sections of the settings. */
export function SettingsTabs() {
  const { pathname } = useLocation();
  const navigate = useNavigate();
  const current =
    SETTINGS_SECTIONS.find(({ value }) => pathname.startsWith(value))?.value ?? SETTINGS_SECTIONS[0].value;
  return <TabRow value={current} items={SETTINGS_SECTIONS} onChange={(next) => void navigate(next)} />;
}
