import { act } from "react";
import { createRoot } from "react-dom/client";
import { expect, it } from "vitest";
import type { DeadLetterPage } from "../../api/types";
import type { Filter } from "../../lib/filter";
import { ResultSummary } from "./ResultSummary";

const PAGE = {
  results: [],
  next: null,
  total: { count: 3, exact: true },
  took_ms: 2_000,
  ran_at: "2026-11-22T10:00:00Z",
  partial: false,
} as unknown as DeadLetterPage;
const FILTER = { clauses: [], from: "now-7d", to: "now" } as unknown as Filter;

async function words(page: Partial<DeadLetterPage>): Promise<string> {
  const first = { ...PAGE, ...page };
  const host = document.createElement("div");
  const root = createRoot(host);
  await act(() =>
    root.render(
      <ResultSummary shown={3} first={first} pages={[first]} exactFacets filter={FILTER} onChange={() => undefined} />,
    ),
  );
  const said = host.textContent;
  await act(() => root.unmount());
  return said;
}

it("calls a total exact only if the answer is complete", async () => {
  expect(await words({})).toMatch(/^Showing 3 of 3·facets and total exact/);
  const partial = await words({ partial: true });
  expect(partial).toMatch(/^Showing 3 of 3\+·/);
  expect(partial).not.toContain("total exact");
  expect(partial).toContain("this answer is partial");
});
