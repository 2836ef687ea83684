/** The searches that this browser ran last, newest first. */
const STORED = "dlqadmin.recent-searches";
const MOST = 8;

export function recentSearches(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(STORED) ?? "[]");
    return Array.isArray(kept) ? kept.filter((one) => typeof one === "string").slice(0, MOST) : [];
  } catch {
    return []; // somebody else's text
  }
}

export function rememberSearch(query: string): void {
  const kept = [query, ...recentSearches().filter((one) => one !== query)].slice(0, MOST);
  try {
    localStorage.setItem(STORED, JSON.stringify(kept));
  } catch {
    // the browser keeps nothing, or no more
  }
}
