import type { DeadLetterPage } from "../../api/types";

/** Return whether a page is incomplete because the server reached its time limit. */
export function isPartial(pages: readonly DeadLetterPage[]): boolean {
  return pages.some((page) => page.partial);
}

/** Return the number of records whose bytes were searched; null if the query reads none. */
export function searchedCount(pages: readonly DeadLetterPage[]): number | null {
  return pages.reduce<number | null>((sum, page) => (page.searched === null ? sum : (sum ?? 0) + page.searched), null);
}
