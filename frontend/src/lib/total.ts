import { count } from "./format";

/** How many match; a lower bound when not exact. */
export interface Total {
  count: number;
  exact: boolean;
}

/** Whether the server found no time to count at all. */
export function isUncounted(total: Total): boolean {
  return total.count === 0 && !total.exact;
}

/** "495", or "10,000+" where there may be more. */
export function totalWords(total: Total): string {
  return `${count(total.count)}${total.exact ? "" : "+"}`;
}
