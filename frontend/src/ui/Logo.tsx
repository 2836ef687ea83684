/** The product's logo. */
export function Logo() {
  return (
    <svg width="22" height="22" viewBox="0 0 24 24" aria-hidden="true">
      <rect width="24" height="24" rx="6" fill="var(--text)" />
      <path d="M6 8h12M6 12h7M6 16h4" stroke="var(--surface)" strokeWidth="1.8" strokeLinecap="round" />
      <path
        d="M14.5 15.8a2.7 2.7 0 1 0 2.7-2.7"
        fill="none"
        stroke="var(--value-1)"
        strokeWidth="1.8"
        strokeLinecap="round"
      />
    </svg>
  );
}
