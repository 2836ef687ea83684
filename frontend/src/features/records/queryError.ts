import { ApiError } from "../../api/client";

/** An error in a query, with the range of characters that cause it. */
export interface QueryError {
  start: number;
  end: number;
  sentence: string;
}

/** Return the query error of a failed request, or null for other errors. */
export function queryErrorOf(error: Error | null): QueryError | null {
  const problem = error instanceof ApiError ? error.problem : null;
  const finding = problem?.errors?.find(({ parameter }) => parameter === "q" || parameter === "query");
  if (!problem?.at || !finding) return null;
  return { ...problem.at, sentence: finding.message.charAt(0).toUpperCase() + finding.message.slice(1) };
}
