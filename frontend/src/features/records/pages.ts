import type { DeadLetterPage } from "../../api/types";

/** Whether the time-out ended the reading of any of them. */
export function isPartial(pages: readonly DeadLetterPage[]): boolean {
  return pages.some((page) => page.partial);
}

/** How many records' bytes were looked into; null where the query needs none. */
export function searchedCount(pages: readonly DeadLetterPage[]): number | null {
  return pages.reduce<number | null>((sum, page) => (page.searched === null ? sum : (sum ?? 0) + page.searched), null);
}
