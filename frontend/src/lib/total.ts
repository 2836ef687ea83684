import { count } from "./format";

/** The number of matches; a lower bound if not exact. */
export interface Total {
  count: number;
  exact: boolean;
}

/** Return whether the server reached its time limit before it counted any. */
export function isUncounted(total: Total): boolean {
  return total.count === 0 && !total.exact;
}

/** Format a total: "495", or "10,000+" if there may be more. */
export function totalWords(total: Total): string {
  return `${count(total.count)}${total.exact ? "" : "+"}`;
}
