const PATHS = {
  overview: "M2 2h5v7H2zM9 2h5v4H9zM2 11h5v3H2zM9 8h5v6H9z",
  trends: "M2 2v12h12M5 11V8M8 11V4M11 11V6",
  groups: "M8 2 14 5 8 8 2 5ZM2 8l6 3 6-3M2 11l6 3 6-3",
  records: "M2 4h12M2 8h12M2 12h12",
  fixes: "M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3 3 13ZM9 4.7 11.3 7",
  replays: "M13 8a5 5 0 1 1-1.6-3.7M13 2.2v3h-3",
  connectors: "M6 8h4M6 8a2 2 0 1 1-4 0 2 2 0 0 1 4 0ZM14 8a2 2 0 1 1-4 0 2 2 0 0 1 4 0Z",
  alerts: "M4 11V7a4 4 0 0 1 8 0v4l1 1H3l1-1ZM7 14h2",
  muted: "M4 11V7a4 4 0 0 1 8 0v4l1 1H3l1-1ZM7 14h2M2 2l12 12",
  topics: "M2 3.5h12v3H2zM2 9.5h12v3H2zM5 3.5v3M5 9.5v3",
  exports: "M8 2v7M5 6.5 8 9.5l3-3M2.5 11v2.5h11V11",
  audit: "M4 2h8v12H4zM6 6h4M6 9h4",
  settings: "M2 4.5h7M12 4.5h2M2 11.5h2M7 11.5h7M9 3v3M12 3v3M9 3h3M9 6h3M4 10v3M7 10v3M4 10h3M4 13h3",
  find: "M11.5 7a4.5 4.5 0 1 1-9 0 4.5 4.5 0 0 1 9 0ZM10.3 10.3 14 14",
  sun: "M8 5.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6ZM8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9",
  moon: "M13 9.6A5.6 5.6 0 0 1 6.4 3a5.6 5.6 0 1 0 6.6 6.6Z",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg
      width="15"
      height="15"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinejoin="round"
      strokeLinecap="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
