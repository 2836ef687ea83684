/** The latest searches of this browser, newest first. */
// `partition:` and `offset:` of searches under the former key, without `.2`, mean other coordinates.
const STORAGE_KEY = "dlqadmin.recent-searches.2";
const MAX_SEARCHES = 8;

export function recentSearches(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "[]");
    return Array.isArray(kept) ? kept.filter((one) => typeof one === "string").slice(0, MAX_SEARCHES) : [];
  } catch {
    return []; // another program may have written this key
  }
}

export function rememberSearch(query: string): void {
  const kept = [query, ...recentSearches().filter((one) => one !== query)].slice(0, MAX_SEARCHES);
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(kept));
  } catch {
    // storage may be disabled or full
  }
}
