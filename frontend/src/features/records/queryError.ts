import { ApiError } from "../../api/client";

/** What is wrong with a query, and which of its characters. */
export interface QueryError {
  start: number;
  end: number;
  sentence: string;
}

/** Where and why the query is wrong, if that is why there is no answer. */
export function queryErrorOf(error: Error | null): QueryError | null {
  const problem = error instanceof ApiError ? error.problem : null;
  const finding = problem?.errors?.find((one) => one.parameter === "q");
  if (!problem?.at || !finding) return null;
  return { ...problem.at, sentence: finding.message.charAt(0).toUpperCase() + finding.message.slice(1) };
}
