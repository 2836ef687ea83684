/** The sections of the settings, in the order of their tabs. */
export const SETTINGS_SECTIONS = [
  { value: "/settings/clusters", label: "Clusters" },
  { value: "/settings/people", label: "People and teams" },
  { value: "/settings/ownership", label: "Ownership" },
  { value: "/settings/masking", label: "Masking" },
  { value: "/settings/channels", label: "Channels" },
  { value: "/settings/dialects", label: "Dialects" },
  { value: "/settings/registries", label: "Schema registries" },
  { value: "/settings/erase", label: "Erase data" },
] as const;
